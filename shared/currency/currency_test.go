package currency_test

import (
	"slices"
	"strings"
	"testing"

	published "github.com/bojanz/currency"

	"flashsale/shared/currency"
)

// The module's data is the maintenance agency's list one as of its release in January 2026, without the
// codes that have no minor unit.
func TestTheDigitsAreThoseThatThePublishedListHas(t *testing.T) {
	listed := published.GetCurrencyCodes()
	if len(listed) < 160 {
		t.Fatalf("the published list has %d codes", len(listed))
	}
	for _, a := range "ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		for _, b := range "ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
			for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
				code := string([]rune{a, b, c})
				want, _ := published.GetDigits(code)
				got, known := currency.Digits(code)
				if known != slices.Contains(listed, code) || known && got != int(want) {
					t.Errorf("%s has %d digits (%t), the list says %d (%t)", code, got, known, want, slices.Contains(listed, code))
				}
			}
		}
	}
}

func TestAnAmountIsADecimalNumberOfItsCurrency(t *testing.T) {
	for _, tt := range []struct {
		amount     int64
		code, want string
	}{
		{1, "JPY", "1"}, {0, "JPY", "0"}, {89900, "ISK", "89900"},
		{1, "EUR", "0.01"}, {10, "EUR", "0.10"}, {100, "EUR", "1.00"}, {89900, "MGA", "899.00"}, {0, "EUR", "0.00"},
		{1, "OMR", "0.001"}, {89900, "OMR", "89.900"}, {1_000_000_000_000, "IQD", "1000000000.000"},
		{1, "UYW", "0.0001"},
	} {
		if got, known := currency.Decimal(tt.amount, tt.code); got != tt.want || !known {
			t.Errorf("%d %s is %q (%t), want %q", tt.amount, tt.code, got, known, tt.want)
		}
	}
	for _, code := range strings.Split("ZZZ OMN XXX XAU BGN eur EU EURO", " ") {
		if got, known := currency.Decimal(1, code); known || got != "" {
			t.Errorf("%q is a currency with the amount %q", code, got)
		}
	}
}
