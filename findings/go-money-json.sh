#!/bin/bash
# Amounts in Go by github.com/Rhymond/go-money: whole minor units, as int64, with a currency.
#
# One would guess: what it writes as JSON it reads as it was; what is no whole number of minor units, or has no currency or an unknown one, is an
# error; Round takes halves up or to even; and a float with two decimals is that many cents.
# It is so:
# - It writes the int64's digits and reads them by way of a float64: 9007199254740993 comes back as one less, without an error.
# - {"amount": 14.99, "currency": "EUR"} is read as 14 cents, and an amount without a currency as one with two digits.
# - Eleven codes of ISO 4217's list are unknown to it and have two digits, too: UYW, which has four, and UYI, which has none, among them.
# - Round goes to whole units, and halves go down: 1.50 is 1.00, and 1.51 is 2.00.
# - NewFromFloat cuts: 19.99 EUR is 1998 cents. It says that it rounds down; of the prices from 0.01 to 9999.99 it is 6.6 % that lose a cent,
#   though each has two decimals.
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder" && rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'EOF2'
module finding

go 1.24

require (
	github.com/Rhymond/go-money v1.0.15
	github.com/bojanz/currency v1.4.2
)
EOF2
cat >main.go <<'EOF2'
package main

import (
	"encoding/json"
	"fmt"

	"github.com/Rhymond/go-money"
	iso "github.com/bojanz/currency"
)

func main() {
	written, _ := json.Marshal(money.New(9007199254740993, "JPY"))
	for _, text := range []string{string(written), `{"amount":14.99,"currency":"EUR"}`, `{"amount":1499}`} {
		var read money.Money
		err := json.Unmarshal([]byte(text), &read)
		fmt.Println(text, "is", read.Amount(), "digits", read.Currency().Fraction, err)
	}
	fmt.Print("unknown, with digits of the list and its own:")
	for _, code := range iso.GetCurrencyCodes() {
		if money.GetCurrency(code) == nil {
			digits, _ := iso.GetDigits(code)
			fmt.Print(" ", code, " ", digits, " ", money.New(1, code).Currency().Fraction)
		}
	}
	fmt.Println()
	for _, amount := range []int64{150, -150, 151} {
		fmt.Println("round", amount, money.New(amount, "EUR").Round().Amount())
	}
	fmt.Println("19.99 is", money.NewFromFloat(19.99, "EUR").Amount())
	lost := 0
	for cents := int64(1); cents < 1_000_000; cents++ {
		if money.NewFromFloat(float64(cents)/100, "EUR").Amount() == cents-1 {
			lost++
		}
	}
	fmt.Println("lose a cent:", lost, "of 999999")
}
EOF2
go mod tidy >/dev/null 2>&1
go list -m github.com/Rhymond/go-money
go run . | tee said
diff said - <<'EOF2'
{"amount":9007199254740993,"currency":"JPY"} is 9007199254740992 digits 0 <nil>
{"amount":14.99,"currency":"EUR"} is 14 digits 2 <nil>
{"amount":1499} is 1499 digits 2 <nil>
unknown, with digits of the list and its own: BOV 2 2 CHE 2 2 CHW 2 2 COU 2 2 MXV 2 2 USN 2 2 UYI 0 2 UYW 4 2 VED 2 2 XAD 2 2 ZWG 2 2
round 150 100
round -150 -100
round 151 200
19.99 is 1998
lose a cent: 65624 of 999999
EOF2
