package currency

// adyenDigits are the digits of Adyen's amounts where they are not ISO 4217's
// (docs.adyen.com/development-resources/currency-codes, which marks these four, read on 2026-11-28).
var adyenDigits = map[string]int{"CLP": 2, "CVE": 0, "IDR": 0, "ISK": 2}

// FromAdyen returns an amount of Adyen's API in minor units of ISO 4217. whole is false if it
// is not a whole number of them, such as half a peso.
func FromAdyen(amount int64, code string) (minor int64, whole bool) {
	return convert(amount, code, adyenDigits)
}
