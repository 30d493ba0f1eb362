#!/bin/bash
# Amounts and numbers of a list of refunds (CSV) in Go's structs, by gocsv and csvutil.
#
# One would guess: an int64 takes decimal digits and refuses other texts; a float64 is written as the decimal number that a bank or spreadsheet reads.
# It is so of csvutil's reading and of gocsv's writing.
# - gocsv cuts what has a point: 14.99 is 14, and 1.499E3, as a spreadsheet may write it, is 1. Zeros in front make octal numbers: a till's receipt 0042 is 34,
#   and 0048 is an error. A comma is a decimal point: "1,499" in a float64 is 1.499. "no" is false, "yes" is true.
# - csvutil writes a float64 of a million or more with an exponent: 1499000 is 1.499E+06, and 1234567.89 is 1.23456789E+06; below it 999999.99 has none.
#   Itself and gocsv read that as a float64; as an int64 csvutil refuses it, and to gocsv it is 1.
#
# Needs Go 1.25 or newer, and the module proxy.
set -euo pipefail
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"
export GOFLAGS=-mod=mod CGO_ENABLED=0

cat >main.go <<'EOF2'
package main

import (
	"fmt"
	"strings"

	"github.com/gocarina/gocsv"
	"github.com/jszwec/csvutil"
)

func said(value any, err error) any {
	if err != nil {
		return "refused"
	}
	return value
}

// read tells the cell as a T by both.
func read[T any](cells ...string) {
	for _, cell := range cells {
		type row struct {
			Cell T `csv:"cell"`
		}
		text := "cell\n\"" + cell + "\"\n"
		a, b := make([]row, 1), make([]row, 1)
		errA, errB := gocsv.UnmarshalString(text, &a), csvutil.Unmarshal([]byte(text), &b)
		var none T
		fmt.Printf("%s as %T: gocsv %v, csvutil %v\n", cell, none, said(append(a, row{})[0].Cell, errA), said(append(b, row{})[0].Cell, errB))
	}
}

func main() {
	read[int64]("1499", "14.99", "1.499E3", "0042", "0048", "1.499E+06")
	read[float64]("14.99", "1,499", "1.499E+06")
	read[bool]("true", "no", "yes")
	type row struct {
		Amount float64 `csv:"amount"`
	}
	for _, amount := range []float64{999999.99, 1499000, 1234567.89} {
		a, errA := gocsv.MarshalString([]row{{amount}})
		b, errB := csvutil.Marshal([]row{{amount}})
		fmt.Printf("%.2f is written: gocsv %v, csvutil %v\n", amount, said(strings.Fields(a)[1], errA), said(strings.Fields(string(b))[1], errB))
	}
}
EOF2
{ go mod init try && go get github.com/gocarina/gocsv@v0.0.0-20240520201108-78e41c74b4b1 github.com/jszwec/csvutil@v1.10.0 && go mod tidy; } >log 2>&1 || { cat log >&2; exit 1; }
{ go list -m github.com/gocarina/gocsv github.com/jszwec/csvutil; go run .; } | tee /dev/stderr | diff - <(cat <<'EOF2'
github.com/gocarina/gocsv v0.0.0-20240520201108-78e41c74b4b1
github.com/jszwec/csvutil v1.10.0
1499 as int64: gocsv 1499, csvutil 1499
14.99 as int64: gocsv 14, csvutil refused
1.499E3 as int64: gocsv 1, csvutil refused
0042 as int64: gocsv 34, csvutil 42
0048 as int64: gocsv refused, csvutil 48
1.499E+06 as int64: gocsv 1, csvutil refused
14.99 as float64: gocsv 14.99, csvutil 14.99
1,499 as float64: gocsv 1.499, csvutil refused
1.499E+06 as float64: gocsv 1.499e+06, csvutil 1.499e+06
true as bool: gocsv true, csvutil true
no as bool: gocsv false, csvutil refused
yes as bool: gocsv true, csvutil refused
999999.99 is written: gocsv 999999.99, csvutil 999999.99
1499000.00 is written: gocsv 1499000, csvutil 1.499E+06
1234567.89 is written: gocsv 1234567.89, csvutil 1.23456789E+06
EOF2
)
