package currency_test

import (
	"strings"
	"testing"

	"flashsale/shared/currency"
)

// adyens are the codes of Adyen's table of currencies by their decimals (docs.adyen.com/development-resources/currency-codes,
// read on 2026-11-28), without CNH, which is no currency to ISO 4217.
var adyens = map[int]string{
	0: "CVE DJF GNF IDR JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
	2: "AED ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BWP BYN BZD CAD CHF CLP CNY COP CRC CUP CZK DKK DOP DZD EGP ETB EUR FJD FKP " +
		"GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF ILS INR ISK JMD KES KGS KHR KYD KZT LAK LBP LKR MAD MDL MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN " +
		"NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SEK SGD SHP SLE SOS SRD STN SVC SZL THB TOP TRY TTD TWD TZS " +
		"UAH USD UYU UZS WST XCD YER ZAR ZMW",
	3: "BHD IQD JOD KWD LYD OMR TND",
}

func TestAWholeUnitOfAdyensIsAWholeUnitHere(t *testing.T) {
	power := func(digits int) int64 { return [...]int64{1, 10, 100, 1000}[digits] }
	for theirs, codes := range adyens {
		for code := range strings.FieldsSeq(codes) {
			ours, known := currency.Digits(code)
			if got, whole := currency.FromAdyen(7*power(theirs), code); got != 7*power(ours) || !whole || !known {
				t.Errorf("7 %s of Adyen's are %d minor units (whole: %t), want %d", code, got, whole, 7*power(ours))
			}
		}
	}
}
