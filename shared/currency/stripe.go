package currency

// stripeDigits are the digits of Stripe's amounts where they are not ISO 4217's: ISK and UGX
// still have the hundredths that they no longer have elsewhere, and MGA is counted in whole
// ariary (docs.stripe.com/currencies, "Special cases" and "Zero-decimal currencies", as of
// 2026-09-03).
var stripeDigits = map[string]int{"ISK": 2, "UGX": 2, "MGA": 0}

// stripeTens are the currencies of three digits of which Stripe charges tens of minor units only.
// Its documentation said so until 2022; today's is silent about it.
var stripeTens = map[string]bool{"BHD": true, "JOD": true, "KWD": true, "OMR": true, "TND": true}

// FromStripe returns an amount of Stripe's API in minor units of ISO 4217. whole is false if it
// is not a whole number of them: Stripe charges no such amount.
func FromStripe(amount int64, code string) (minor int64, whole bool) {
	return convert(amount, code, stripeDigits)
}

// ToStripe returns an amount of minor units of ISO 4217 as Stripe's API has it. whole is false if it is no whole number
// of Stripe's units, or Digits does not know the currency.
func ToStripe(minor int64, code string) (amount int64, whole bool) {
	if _, known := Digits(code); !known {
		return 0, false
	}
	const some = 100 // of Stripe's units, which are whole minor units in each currency
	of, _ := FromStripe(some, code)
	amount = minor * some / of
	back, whole := FromStripe(amount, code)
	return amount, whole && back == minor
}

// convert returns an amount of a provider whose amounts have these digits where they are not ISO 4217's.
func convert(amount int64, code string, digits map[string]int) (minor int64, whole bool) {
	theirs, differs := digits[code]
	if !differs {
		return amount, true
	}
	ours, _ := Digits(code)
	minor, whole = amount, true
	for ; ours < theirs; theirs-- {
		minor, whole = minor/10, whole && minor%10 == 0
	}
	for ; ours > theirs; theirs++ {
		minor *= 10
	}
	return minor, whole
}

// StripeStep returns the minor units of ISO 4217 whose multiples are all the amounts that Stripe
// charges in the currency: 100 for MGA, 10 for OMR, 1 for most.
func StripeStep(code string) int64 {
	step := int64(1)
	if stripeTens[code] {
		step = 10
	}
	if theirs, differs := stripeDigits[code]; differs {
		for ours, _ := Digits(code); ours > theirs; theirs++ {
			step *= 10
		}
	}
	return step
}
