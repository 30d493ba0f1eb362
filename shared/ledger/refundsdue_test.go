package ledger_test

import (
	"testing"

	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// An order may be paid although its sale does not ask for payment. Whatever may have caused a
// refund, a pass counts it.
func TestARefundOfASaleThatAsksForNoPaymentIsCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		price      int64
		references []string
	}{
		"two payments of one order": {references: []string{"pi_1", "pi_2"}},
		"a payment of another sum":  {price: 1, references: []string{"pi_1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, _ := faulty(t)
			c := w.Sale(1, 1)
			if tt.price > 0 {
				c.Price, c.Currency = tt.price, "CNY"
			}
			if _, err := w.Ledger.Create(w.Ctx, c); err != nil {
				t.Fatal(err)
			}
			id := w.Ordered("alice")[0]
			for _, reference := range tt.references {
				w.Settles(ledgertest.PaymentOf(id, reference))
			}
			r, err := w.Environment().Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
			if err != nil || r == nil || r.RefundsDue != 1 {
				t.Errorf("got %+v (%v), want one refund due", r, err)
			}
		})
	}
}
