#!/bin/bash
# Does Go's golang.org/x/text write numbers and money as the same buyer's browser does?
#
# One would guess: both have CLDR's data, so that a mail written by a Go program has the numbers of the page.
# It is so, in v0.44.0:
# - Its data are CLDR 32's, of 2017; browsers have 48.
# - Each currency's sign precedes the amount, with a space: "€ 1.234,50" in German, French and Polish, where it follows.
# - "ar" has Arabic digits and "ar-EG" European ones; in browsers it is the other way round.
# - 1,000,000 is not "many" in French, Spanish, Italian and Portuguese; Spanish and Italian numbers of four digits are grouped.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >main.go <<'EOF2'
package main

import (
	"fmt"
	"strings"

	"golang.org/x/text/currency"
	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
	"golang.org/x/text/unicode/cldr"
)

func main() {
	fmt.Println("CLDR", cldr.Version)
	for _, tag := range []string{"de", "fr", "pl", "es", "it", "pt-BR", "ar", "ar-EG"} {
		parsed := language.MustParse(tag)
		p := message.NewPrinter(parsed)
		text := fmt.Sprint(tag, ": ", p.Sprint(number.Decimal(1234.5)), ", ", p.Sprint(currency.Symbol(currency.EUR.Amount(1234.5))),
			", a million is many: ", plural.Cardinal.MatchPlural(parsed, 1000000, 0, 0, 0, 0) == plural.Many)
		fmt.Println(strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(text))
	}
}
EOF2
export GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0
go mod init try 2>/dev/null
go get golang.org/x/text@v0.44.0 2>/dev/null
go run . | tee /dev/stderr | diff - <(cat <<'EOF2'
CLDR 32
de: 1.234,5, € 1.234,50, a million is many: false
fr: 1 234,5, € 1 234,50, a million is many: false
pl: 1 234,5, € 1 234,50, a million is many: true
es: 1.234,5, € 1.234,50, a million is many: false
it: 1.234,5, € 1.234,50, a million is many: false
pt-BR: 1.234,5, € 1.234,50, a million is many: false
ar: ١٬٢٣٤٫٥, € ١٬٢٣٤٫٥٠, a million is many: false
ar-EG: 1,234.5, € 1,234.50, a million is many: false
EOF2
)
