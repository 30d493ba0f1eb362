package handler

import (
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
)

// totals are those of a session of goods of 1499.00; more replaces some.
func totals(total, more string) string {
	return session(`"amount_subtotal":149900,"amount_total":` + total + `,"total_details":` + membersOf(`"amount_discount":0,"amount_shipping":0,"amount_tax":0`, more))
}

func TestASaleWithExtrasIsPaidByWhatStripeExplains(t *testing.T) {
	const paid, due = `{"outcome":"paid"}`, `{"outcome":"refund-due","reason":"amount",`
	converted := func(more string) string {
		return strings.Replace(totals("21000", ""), `"amount_subtotal":149900`, `"amount_subtotal":21000,"currency_conversion":`+membersOf(`"amount_subtotal":149900,"amount_total":149900,"fx_rate":"0.14","source_currency":"cny"`, more), 1)
	}
	for name, tt := range map[string]struct {
		body, with, without string // what a sale with extras and one without is told
	}{
		"the price":                            {totals("149900", ""), paid, paid},
		"the price, nothing told of it":        {session(""), paid, paid},
		"tax on top":                           {totals("164890", `"amount_tax":14990`), paid, due},
		"tax within the price":                 {totals("149900", `"amount_tax":13627`), paid, paid},
		"tax, partly within the price":         {totals("150900", `"amount_tax":13627`), paid, due},
		"shipping":                             {totals("151100", `"amount_shipping":1200`), paid, due},
		"shipping that is null":                {totals("149900", `"amount_shipping":null`), paid, paid},
		"a discount":                           {totals("99900", `"amount_discount":50000`), paid, due},
		"all of them":                          {totals("124711", `"amount_discount":50000,"amount_shipping":1200,"amount_tax":23611`), paid, due},
		"a total that nothing explains":        {totals("149901", ""), due, due},
		"less than is explained":               {totals("149899", `"amount_tax":13627`), due, due},
		"two pieces at a discount":             {strings.Replace(totals("149900", `"amount_discount":149900`), `"amount_subtotal":149900`, `"amount_subtotal":299800`, 1), due, paid},
		"another currency":                     {strings.Replace(totals("149900", ""), `"cny"`, `"hkd"`, 1), due, due},
		"a currency that the buyer has chosen": {strings.Replace(converted(""), `"currency":"cny"`, `"currency":"eur"`, 1), paid, due},
		"converted from another price":         {strings.Replace(converted(`"amount_subtotal":149800`), `"currency":"cny"`, `"currency":"eur"`, 1), due, due},
		"no totals but the amount":             {session(`"amount_total":164890`), due, due},
	} {
		for _, extras := range []bool{true, false} {
			in(t, func(t *testing.T, f *function) {
				f.Sells(func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency, c.Extras = time.Hour, 149900, "CNY", extras })
				f.Confirms()
				want := tt.without
				if extras {
					want = tt.with
				}
				if r := f.reports(Stripe, tt.body); !strings.HasPrefix(r.Body, want) {
					t.Errorf("%s, extras %t: got %s, want %s", name, extras, r.Body, want)
				}
			})
		}
	}
}
