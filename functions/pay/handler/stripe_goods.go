package handler

import (
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/shared/currency"
	"flashsale/shared/jsonread"
)

// stripeTotals is what a Checkout session says of its amount. The subtotal is of the items, before discounts, with the
// tax that is within their price (docs.stripe.com/api/checkout/sessions/object, read on 2026-11-29).
type stripeTotals struct {
	AmountSubtotal *jsonread.Whole `json:"amount_subtotal"`
	AmountTotal    *jsonread.Whole `json:"amount_total"`
	Currency       string          `json:"currency"`
	TotalDetails   struct {
		AmountDiscount *jsonread.Whole `json:"amount_discount"`
		AmountShipping *jsonread.Whole `json:"amount_shipping"`
		AmountTax      *jsonread.Whole `json:"amount_tax"` // on top of the prices and within them
	} `json:"total_details"`
	// CurrencyConversion is of a session whose buyer chose another currency by Adaptive Pricing before 2025-03-31; a
	// later one keeps the shop's (docs.stripe.com/changelog/basil/2025-03-31/add_presentment_details).
	CurrencyConversion *struct {
		AmountSubtotal *jsonread.Whole `json:"amount_subtotal"`
		SourceCurrency string          `json:"source_currency"`
	} `json:"currency_conversion"`
}

// stripeGoods is what the goods are of a session's amount, in minor units, and its currency: "" if its total is not
// explained by tax, shipping and discounts.
func stripeGoods(session jsontext.Value) (minor int64, code string) {
	var t stripeTotals
	if jsonv2.Unmarshal(session, &t) != nil || t.AmountSubtotal == nil || t.AmountTotal == nil {
		return 0, ""
	}
	of := func(n *jsonread.Whole) int64 {
		if n == nil {
			return 0
		}
		return int64(*n)
	}
	// Of the tax only what is on top is in the difference, and the session does not say how much that is.
	d := t.TotalDetails
	onTop := of(t.AmountTotal) - of(t.AmountSubtotal) - of(d.AmountShipping) + of(d.AmountDiscount)
	if onTop < 0 || onTop > of(d.AmountTax) {
		return 0, ""
	}
	subtotal, code := t.AmountSubtotal, t.Currency
	if c := t.CurrencyConversion; c != nil {
		if c.AmountSubtotal == nil {
			return 0, ""
		}
		subtotal, code = c.AmountSubtotal, c.SourceCurrency
	}
	code = strings.ToUpper(code)
	minor, isWhole := currency.FromStripe(of(subtotal), code)
	if !isWhole {
		return 0, ""
	}
	return minor, code
}
