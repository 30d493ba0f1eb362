#!/bin/bash
# How many digits has an amount of money? Four libraries that name ISO 4217.
#
# One would guess: they have the digits of ISO 4217's list, at least of the currencies that they know.
# It is so:
# - golang.org/x/text/currency, "Standard": CLDR's digits of 2017. 22 currencies of the list have fewer, IQD none in place of 3,
#   and eight newer ones (MRU SLE UYW VED VES XAD XCG ZWG) are no currency to ParseISO.
# - Intl.NumberFormat of Node, whose default MDN gives as ISO 4217's: CLDR's, too. IQD has none, and HUF with CLDR 48 has none either.
# - npm's currency-codes: ISO's digits, but gold, silver and XXX, to which the list gives no minor unit, have 0, and XCG is missing.
# - npm's dinero.js: ISO's digits, but of MGA and MRU, which are counted in fifths (base 5, exponent 1): an amount of 100 is 20 ariary.
#
# The list is that of the maintenance agency of 2026-01-01, as the Go module github.com/bojanz/currency v1.4.2 has it.
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder" && rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'EOF'
module finding

go 1.24

require (
	github.com/bojanz/currency v1.4.2
	golang.org/x/text v0.40.0
)
EOF
cat >main.go <<'EOF'
package main

import (
	"fmt"

	iso "github.com/bojanz/currency"
	"golang.org/x/text/currency"
)

// It prints each code with its digits by the list and by x/text, -1 for an unknown one.
func main() {
	for _, code := range iso.GetCurrencyCodes() {
		listed, _ := iso.GetDigits(code)
		digits := -1
		if unit, err := currency.ParseISO(code); err == nil {
			digits, _ = currency.Standard.Rounding(unit)
		}
		fmt.Println(code, listed, digits)
	}
}
EOF
go mod tidy >/dev/null 2>&1
go run . >codes
npm install --silent --no-audit --no-fund --ignore-scripts currency-codes@2.2.0 dinero.js@2.0.2 >/dev/null
cat >all.mjs <<'EOF'
import fs from "fs";
import codes from "currency-codes";
import * as dinero from "dinero.js/currencies";

const list = fs.readFileSync("codes", "utf8").trim().split("\n").map((l) => l.split(" ")).map(([code, iso, text]) => ({ code, iso: +iso, text: +text }));
const intl = (code) => new Intl.NumberFormat("en", { style: "currency", currency: code }).resolvedOptions().maximumFractionDigits;
const names = (all) => all.length + (all.length ? " (" + all.map((c) => c.code).join(" ") + ")" : "");
console.log("x/text fewer: " + names(list.filter((c) => c.text >= 0 && c.text < c.iso)));
console.log("x/text unknown: " + names(list.filter((c) => c.text < 0)));
console.error("Intl fewer: " + names(list.filter((c) => intl(c.code) < c.iso)));
console.log("Intl IQD: " + intl("IQD"));
console.log("currency-codes XAU, XXX: " + codes.code("XAU").digits + ", " + codes.code("XXX").digits + "; XCG: " + codes.code("XCG"));
console.log("currency-codes otherwise: " + names(list.filter((c) => codes.code(c.code) && codes.code(c.code).digits !== c.iso)));
console.log("dinero.js otherwise: " + names(Object.values(dinero).filter((d) => list.some((c) => c.code === d.code && (c.iso !== d.exponent || d.base !== 10)))));
console.error("node " + process.version + ", CLDR " + process.versions.cldr);
EOF
node all.mjs | tee said
diff said - <<'EOF'
x/text fewer: 22 (AFN ALL AMD COP GYD IDR IQD IRR KPW LAK LBP MGA MMK MNT MUR PKR RSD SOS SYP TZS UZS YER)
x/text unknown: 8 (MRU SLE UYW VED VES XAD XCG ZWG)
Intl IQD: 0
currency-codes XAU, XXX: 0, 0; XCG: undefined
currency-codes otherwise: 0
dinero.js otherwise: 2 (MGA MRU)
EOF
