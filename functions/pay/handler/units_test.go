package handler

import (
	"testing"
	"time"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// Each provider reports what the buyer has paid for the whole order, and none how many units that was.
func TestAnOrderOfTwoUnitsIsPaidByTwiceThePrice(t *testing.T) {
	for units, want := range map[int64]string{2: "paid", 1: "refund-due"} {
		for provider, w := range usual() {
			in(t, func(t *testing.T, f *function) {
				f.Open(func(c *sale.Creation) {
					c.MaxPerOrder, c.PayWithin, c.Price, c.Currency = 2, time.Hour, 149900/2, "CNY"
				})
				time.Sleep(5 * time.Second)
				l := f.LedgerWith(ledger.Options{NewID: func() string { return testledger.AlicesClaim }})
				if _, err := l.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: testledger.Alice, Units: units}); err != nil {
					t.Fatal(err)
				}
				f.Confirms()
				if w.result = want; want != "paid" {
					w.says = "amount"
				}
				f.meets(provider, w)
			}, w.settings...)
		}
	}
}
