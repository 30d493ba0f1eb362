// Package currency knows how many digits the minor unit of each currency has.
//
// It is ISO 4217's list and not CLDR's, which browsers and golang.org/x/text have: CLDR counts
// the digits that people use, so that an amount of IQD would read a thousand times as much. Its
// version 48 took two digits from COP, HUF, IDR and PKR.
package currency

import (
	"fmt"
	"strings"
)

// Published is the date of the list of the maintenance agency of ISO 4217 ("list one") that
// Digits is of.
const Published = "2026-01-01"

// list has all codes that the list gives a minor unit, by the number of its digits. Those
// without one (metals, XDR, XTS, XXX and other units of account) can be no price.
var list = [...]string{
	0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
	2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF " +
		"CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL " +
		"HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU " +
		"MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR " +
		"SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED " +
		"VES WST XAD XCD XCG YER ZAR ZMW ZWG",
	3: "BHD IQD JOD KWD LYD OMR TND",
	4: "CLF UYW",
}

var digits = func() map[string]int {
	all := map[string]int{}
	for n, codes := range list {
		for code := range strings.FieldsSeq(codes) {
			all[code] = n
		}
	}
	return all
}()

// Digits returns how many digits the minor unit of the currency has, 0 to 4. known is false for
// whatever is not such a code in capital letters.
func Digits(code string) (n int, known bool) {
	n, known = digits[code]
	return n, known
}

// Codes returns all codes by the digits of their minor unit, 0 to 4: commas stand between those, blanks between codes.
func Codes() string { return strings.Join(list[:], ",") }

// Decimal returns an amount of minor units, which must not be negative, as a decimal number of
// the currency: 89900 is "899.00" in EUR, "89.900" in OMR and "89900" in JPY. known is false,
// and the text empty, if Digits does not know the currency.
func Decimal(amount int64, code string) (text string, known bool) {
	n, known := Digits(code)
	if !known {
		return "", false
	}
	text = fmt.Sprintf("%0*d", n+1, amount)
	if whole := len(text) - n; n > 0 {
		text = text[:whole] + "." + text[whole:]
	}
	return text, true
}
