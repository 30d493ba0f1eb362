package table

import (
	"time"

	"flashsale/shared/sale"
)

// What became of a payment, as its guard says.
const (
	FatePaid   = "paid"
	FateRefund = "refund-due"
)

// Guard is a payment's guard: its fate, and the report that decided it.
type Guard struct {
	Fate     string
	SaleID   string // "" if the order is unknown
	OrderID  uint64 // as the payment named it
	Amount   int64
	Currency string
}

// GuardOf is the guard of a payment that was reported so.
func GuardOf(p sale.Payment, saleID, fate string) Guard {
	return Guard{Fate: fate, SaleID: saleID, OrderID: p.OrderID, Amount: p.Amount, Currency: p.Currency}
}

// GuardItem is the item of a payment's guard; payment is the payment's id, and at the instant of the decision.
func GuardItem(payment string, g Guard, at time.Time) Item {
	it := With(PaymentKey(payment), Item{
		"fate": S(g.Fate), "amount": N(g.Amount), "currency": S(g.Currency), "at": Millis(at),
	})
	if g.SaleID != "" {
		it["saleId"] = S(g.SaleID)
	}
	if g.OrderID != 0 {
		it["orderId"] = N(int64(g.OrderID))
	}
	return it
}

// ReadGuard reads the item of a payment's guard. It fails if the fate is none of the two.
func ReadGuard(it Item) (Guard, error) {
	r := Read(it)
	g := Guard{
		Fate: r.Text("fate"), SaleID: r.OptionalText("saleId"), OrderID: uint64(r.OptionalNumber("orderId")),
		Amount: r.Number("amount"), Currency: r.Text("currency"),
	}
	if g.Fate != FatePaid && g.Fate != FateRefund {
		r.Fail("fate", "paid or refund-due")
	}
	return g, r.Err
}
