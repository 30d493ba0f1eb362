package handler

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestABuyerSeesUntilWhenAndWhereToPay(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	pending := func(c *sale.Claim) { c.OrderID = 0 }
	confirmed := func(*sale.Claim) {}
	paid := func(c *sale.Claim) { c.PaidAt, c.Payment = at, "stripe#pi_1" }
	expired := func(c *sale.Claim) { c.ReleasedAt, c.ReleasedBy = at, sale.ByExpiry }
	cancelled := func(c *sale.Claim) { c.ReleasedAt, c.ReleasedBy = at, sale.ByBuyer }
	for _, tt := range []struct {
		name       string
		payWithin  time.Duration
		change     func(*sale.Claim)
		state      string
		payBy, url any // of the claim
		orderState any
	}{
		{"pending", time.Hour, pending, "PENDING", nil, nil, "PENDING"},
		{"confirmed", time.Hour, confirmed, "CONFIRMED", "2026-01-01T01:00:06.000Z", "https://shop.example/pay?order=406709376884146177", "CONFIRMED"},
		{"paid", time.Hour, paid, "PAID", "2026-01-01T01:00:06.000Z", nil, "PAID"},
		{"expired", time.Hour, expired, "EXPIRED", "2026-01-01T01:00:06.000Z", nil, "EXPIRED"},
		{"cancelled", time.Hour, cancelled, "CANCELLED", "2026-01-01T01:00:06.000Z", nil, "CANCELLED"},
		// Nothing is asked, and the claim of an order is not read.
		{"confirmed, in a sale without payment", 0, confirmed, "CONFIRMED", nil, nil, nil},
		{"paid, in a sale without payment", 0, paid, "PAID", nil, nil, nil},
	} {
		f := newFunction(t)
		f.handler.PayingAt("https://shop.example/pay?order={orderId}")
		f.sale.PayWithin = tt.payWithin
		claim := f.claims["alice"]
		tt.change(&claim)
		f.claims["alice"] = claim
		body := answered(t, f.Ask(t, t.Context(), event(t, "query-claim.json")), "no-store")
		if body["state"] != tt.state || body["payBy"] != tt.payBy || body["paymentUrl"] != tt.url {
			t.Errorf("%s: claim %v", tt.name, body)
		}
		body = answered(t, f.Ask(t, t.Context(), event(t, "query-order.json")), "no-store")
		if body["state"] != tt.orderState || body["payBy"] != tt.payBy || body["paymentUrl"] != tt.url {
			t.Errorf("%s: order %v", tt.name, body)
		}
	}
}

// A buyer whose payment is not the order's learns that it goes back, and when it did.
func TestABuyerSeesWhatBecomesOfPaymentsThatGoBack(t *testing.T) {
	at := time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC)
	f := newFunction(t)
	f.sale.PayWithin = time.Hour
	f.refunds = []sale.Refund{
		{SaleID: "moutai", Payment: "stripe#pi_1", User: "alice", OrderID: orderID, Reason: sale.RefundReleased, Amount: 89900, Currency: "CNY", At: at},
		{SaleID: "moutai", Payment: "stripe#<pi_2>", User: "alice", OrderID: orderID, Reason: sale.RefundAmount, Amount: 899, Currency: "CNY", At: at, RefundedAt: at.Add(time.Hour)},
	}
	for _, name := range []string{"query-claim.json", "query-order.json"} {
		if body := answered(t, f.Ask(t, t.Context(), event(t, name)), "no-store"); body["refunds"] != nil {
			t.Errorf("%s: a claim without refunds shows %v", name, body["refunds"])
		}
	}
	claim := f.claims["alice"]
	claim.Refunds = []string{"stripe#pi_1", "stripe#<pi_2>"}
	f.claims["alice"] = claim
	want := []any{
		map[string]any{"payment": "stripe#pi_1", "reason": "released", "amount": 89900.0, "currency": "CNY"},
		map[string]any{"payment": "stripe#<pi_2>", "reason": "amount", "amount": 899.0, "currency": "CNY", "refundedAt": "2026-01-01T03:00:00.000Z"},
	}
	for _, name := range []string{"query-claim.json", "query-order.json"} {
		if diff := cmp.Diff(want, answered(t, f.Ask(t, t.Context(), event(t, name)), "no-store")["refunds"]); diff != "" {
			t.Errorf("%s: refunds (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheOrdersIDIsPutIntoTheAddressOrAppended(t *testing.T) {
	for address, want := range map[string]any{
		"/pay?order=":             "/pay?order=406709376884146177",
		"https://s/{orderId}/now": "https://s/406709376884146177/now",
		"":                        nil,
	} {
		f := newFunction(t)
		f.sale.PayWithin = time.Hour
		f.handler.PayingAt(address)
		if got := answered(t, f.Ask(t, t.Context(), event(t, "query-claim.json")), "no-store")["paymentUrl"]; got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

// A buyer is told before they order that the order has to be paid, and how soon.
func TestASaleThatAsksForPaymentSaysHowLongItsBuyersHave(t *testing.T) {
	for payWithin, want := range map[time.Duration]any{30 * time.Minute: 1800.0, 0: nil} {
		f := newFunction(t)
		f.sale.PayWithin = payWithin
		if got := answered(t, f.Ask(t, t.Context(), event(t, "query-sale.json")), "max-age=1")["payWithin"]; got != want {
			t.Errorf("%s: payWithin is %v, want %v", payWithin, got, want)
		}
	}
}

// Units of a sale that asks for payment may be on sale again until it closes.
func TestASoldOutSaleSaysWhetherUnitsMayReturn(t *testing.T) {
	for _, tt := range []struct {
		name      string
		payWithin time.Duration
		left      int64
		change    func(*sale.Sale)
		want      bool
	}{
		{"sold out", time.Hour, 0, func(*sale.Sale) {}, true},
		{"without payment", 0, 0, func(*sale.Sale) {}, false},
		{"units left", time.Hour, 1, func(*sale.Sale) {}, false},
		{"closed", time.Hour, 0, func(s *sale.Sale) { s.ClosesAt = s.OpensAt }, false},
		{"paused", time.Hour, 0, func(s *sale.Sale) { s.Paused = true }, false},
	} {
		f := newFunction(t)
		f.sale.PayWithin, f.remaining = tt.payWithin, ledger.Remaining{Units: tt.left}
		tt.change(&f.sale)
		r := f.Ask(t, t.Context(), event(t, "query-sale.json"))
		got := answered(t, r, "max-age=1")["mayReturn"] == true
		wait, _ := strconv.Atoi(r.Headers.RetryAfter)
		if got != tt.want || got != (wait >= 60 && wait <= 90) {
			t.Errorf("%s: %s, Retry-After %q", tt.name, r.Body, r.Headers.RetryAfter)
		}
	}
}
