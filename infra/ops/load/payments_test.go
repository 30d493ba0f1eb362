package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	release "flashsale/functions/release/handler"
	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

func TestASmallSaleIsPaidOrSoldAgain(t *testing.T) {
	for name, c := range map[string]struct {
		ahead  time.Duration // of the clock of what releases
		found  string        // the promise
		orders string
	}{
		"a shop that keeps its promises":    {0, "", "map[cancelled:1 expired:2 paid:9 refund-due: released:1]"},
		"one that releases what is not due": {payWithin, "P21", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(start)) // order ids begin in 2026
				h := newFakeStack(flaws{})
				now := time.Now()
				if _, err := h.environment().Create(t.Context(), sale.Creation{SaleID: "s", Name: "x", Stock: unpaidStock, Shards: unpaidShards, OpensAt: now, ClosesAt: now.Add(time.Hour), PayWithin: payWithin}); err != nil {
					t.Fatal(err)
				}
				visits := make([]visit, unpaidStock+lateBuyers)
				for i := range visits {
					visits[i].Buyer = rush.Buyer{User: userName(i), Token: "token-of-" + userName(i), Clicks: 1}
				}
				o := options{demo: true, crowd: crowd{inflight: 4, patience: time.Minute}}
				b := o.newBuyers(client.New("http://127.0.0.1", client.Options{Transport: h}), "s", visits, verdict.Sale{Units: unpaidStock, Shards: unpaidShards, Own: true, AsksForPayment: true})
				b.payer = h.pay
				book := ledger.New(h.db, "ShopTable", ledger.Options{Now: func() time.Time { return clock.Wall().Add(c.ahead) }})
				released := release.New(book, 0, telemetry.New(io.Discard, "test", clock.Wall))
				b.release = func(ctx context.Context) error {
					_, err := released.Handle(ctx, json.RawMessage(`{"saleId":"s"}`))
					return err
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				if err := b.sellAgain(ctx); err != nil && c.found == "" {
					t.Fatal(err)
				}
				if found := b.History.Findings(); (len(found) == 0) != (c.found == "") || !strings.Contains(fmt.Sprint(found), c.found) {
					t.Errorf("found %v, want %q", found, c.found)
				}
				if got := fmt.Sprint(b.tally.orders); c.orders != "" && got != c.orders {
					t.Errorf("orders are %s, want %s", got, c.orders)
				}
			})
		})
	}
}

// pay records a payment as PayFunction does, for the first report of each provider after it was busy.
func (h *fakeStack) pay(ctx context.Context, provider string, p webhook.Payment) (client.Answer, error) {
	if h.asked.Add(1)%2 == 0 {
		return client.Answer{Status: http.StatusServiceUnavailable, Code: "busy", RetryAfter: time.Second}, nil
	}
	order, err := orderid.Parse(p.OrderID)
	if err != nil {
		return client.Answer{}, err
	}
	done, err := h.environment().Pay(ctx, sale.Payment{Provider: provider, Reference: p.PaymentID, SaleID: p.SaleID, OrderID: order, Amount: p.Amount, Currency: p.Currency})
	body := `{"outcome":"paid"}`
	if done.Refund != nil {
		body = fmt.Sprintf(`{"outcome":"refund-due","reason":%q}`, done.Refund.Reason)
	}
	return client.Answer{Status: http.StatusOK, Body: []byte(body)}, err
}

func TestTheSmallSalesReceiptCountsWhatCameBackAndWasSoldAgain(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*books.Receipt)
		want  string
	}{
		"as it should":                {func(*books.Receipt) {}, ""},
		"a unit is left":              {func(r *books.Receipt) { r.Stock++ }, "P23"},
		"a unit is sold twice":        {func(r *books.Receipt) { r.Claims++ }, "P23"},
		"a payment is not recorded":   {func(r *books.Receipt) { r.Paid-- }, "P24"},
		"a refund is forgotten":       {func(r *books.Receipt) { r.RefundsDue = 0 }, "P24"},
		"a finding about payments":    {func(r *books.Receipt) { r.Findings = []books.Finding{{Promise: "P20"}} }, "P20"},
		"a finding of something else": {func(r *books.Receipt) { r.Findings = []books.Finding{{Promise: "P2"}} }, "P23"},
	} {
		r := &books.Receipt{Claims: unpaidStock + returned, Released: returned, Paid: unpaidStock, RefundsDue: 1}
		c.spoil(r)
		broken := ""
		for _, l := range auditPayments(verdict.New(verdict.Sale{AsksForPayment: true}), &books.Sale{}, r) {
			if len(l.broken) > 0 {
				broken += l.promise
			}
		}
		if broken != c.want {
			t.Errorf("%s: broken are %q, want %q", name, broken, c.want)
		}
	}
}
