#!/bin/bash
# Numbers of 16 to 19 digits in an .xlsx file, such as order ids, 16-digit references of payments and microseconds, by Go's excelize.
#
# One would guess: with RawCellValue a cell's value is the text that the file has, whoever is asked for it; and to read a cell changes nothing.
# It is so: up to 15 digits.
# - SetCellValue of an int64 writes all its digits and GetRows gives them. GetCellValue gives 15 and an exponent, with RawCellValue, too:
#   5.23415642750058E+17. A float64 holds each 16-digit reference that begins with 8, so it is not the number's type that loses the last digit.
# - What GetCellValue has read is another value afterwards, for GetRows as well, and Save puts it into the file, where 523415642750058497 was. Who looks at
#   cells to find a line, marks it and saves the list, has rounded the ids that were looked at and left the others.
# A text (SetCellStr) stays as it is.
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
	"archive/zip"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/xuri/excelize/v2"
)

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return v
}

var value = regexp.MustCompile(`<c r="(A\d)"><v>([^<]*)`)

// inFile tells the values that the sheet's XML has.
func inFile(name string) {
	z := must(zip.OpenReader(name))
	defer z.Close()
	for _, one := range value.FindAllStringSubmatch(string(must(io.ReadAll(must(z.Open("xl/worksheets/sheet1.xml"))))), -1) {
		fmt.Printf(" %s=%s", one[1], one[2])
	}
	fmt.Println()
}

func main() {
	f := excelize.NewFile()
	for i, number := range []int64{123456789012345, 8836123456789012, 523415642750058497, 523415642750058498} {
		if err := f.SetCellValue("Sheet1", fmt.Sprint("A", i+1), number); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := f.SaveAs("list.xlsx"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print("written:")
	inFile("list.xlsx")

	f = must(excelize.OpenFile("list.xlsx"))
	fmt.Println("rows:", must(f.GetRows("Sheet1", excelize.Options{RawCellValue: true})))
	for _, cell := range []string{"A1", "A2", "A3"} {
		fmt.Println("read:", cell, must(f.GetCellValue("Sheet1", cell)), must(f.GetCellValue("Sheet1", cell, excelize.Options{RawCellValue: true})))
	}
	fmt.Println("rows:", must(f.GetRows("Sheet1", excelize.Options{RawCellValue: true})))
	if err := f.SaveAs("again.xlsx"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print("saved again:")
	inFile("again.xlsx")
}
EOF2
{ go mod init try && go get github.com/xuri/excelize/v2@v2.11.1 && go mod tidy; } >log 2>&1 || { cat log >&2; exit 1; }
{ go list -m github.com/xuri/excelize/v2; go run .; } | tee /dev/stderr | diff - <(cat <<'EOF2'
github.com/xuri/excelize/v2 v2.11.1
written: A1=123456789012345 A2=8836123456789012 A3=523415642750058497 A4=523415642750058498
rows: [[123456789012345] [8836123456789012] [523415642750058497] [523415642750058498]]
read: A1 123456789012345 123456789012345
read: A2 8.83612345678901E+15 8.83612345678901E+15
read: A3 5.23415642750058E+17 5.23415642750058E+17
rows: [[123456789012345] [8.83612345678901E+15] [5.23415642750058E+17] [523415642750058498]]
saved again: A1=123456789012345 A2=8.83612345678901E+15 A3=5.23415642750058E+17 A4=523415642750058498
EOF2
)
