package handler

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/ownclaim"
	"flashsale/shared/sale"
)

// A shop's page goes on from the answer alone, also when the buyer has ordered before: with what the order costs, until
// when it must be paid by the same clock, and where. That reads nothing more of the table.
func TestABuyerIsToldWithTheAnswerWhatTheOrderCostsAndWhereToPayIt(t *testing.T) {
	testledger.Run(t, func(w *testledger.World) {
		t := w.T
		f := &function{World: w}
		w.Open(func(c *sale.Creation) { c.PayWithin, c.Price, c.Currency = time.Hour, 149900, "CNY" })
		time.Sleep(5 * time.Second)
		f.over(w.Ledger())
		var err error
		if f.handler.PayLink, err = ownclaim.NewPaymentLink("https://shop.example/pay?order={orderId}", "", ""); err != nil {
			t.Fatal(err)
		}
		claim := func(body string) (c map[string]any) {
			var whole map[string]any
			if err := json.Unmarshal([]byte(body), &whole); err != nil {
				t.Fatal(err)
			}
			if c, _ = whole["claim"].(map[string]any); c == nil {
				c = whole
			}
			return c
		}
		const accepting = "the answer to the order"
		want := map[string]any{"saleId": "moutai", "amount": 149900.0, "currency": "CNY", "state": "PENDING"}
		is := func(when, body string, more map[string]any) {
			t.Helper()
			if want["now"] = httpapi.Time(time.Now()); when == accepting {
				delete(want, "now") // a repeat gets the same answer
			}
			maps.Copy(want, more)
			got := claim(body)
			delete(got, "claimId")
			delete(got, "acceptedAt")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		trace := header("traceparent", "00-not-a-trace")
		is(accepting, f.invoke(t, t.Context(), event(t, "purchase.json", trace)).Body, nil)
		id := f.Claim("alice").ID
		calls := w.Calls(func() {
			again := f.invoke(t, t.Context(), event(t, "purchase.json"))
			refused(t, again, 409, sale.AlreadyOrdered)
			is("once more", again.Body, nil)
		})
		if calls != 1 { // the claim, which may have been released
			t.Errorf("%d calls of the table", calls)
		}
		w.Confirm(ledger.ClaimRef{SaleID: "moutai", User: "alice", ClaimID: id})
		number := orderid.String(f.Claim("alice").OrderID)
		paying := map[string]any{
			"state": "CONFIRMED", "orderId": number, "payBy": httpapi.Time(time.Now().Add(time.Hour)), "paymentUrl": "https://shop.example/pay?order=" + number,
		}
		is("once it has an id", f.invoke(t, t.Context(), event(t, "purchase.json")).Body, paying)
		w.Recall()
		time.Sleep(2 * time.Second)
		delete(want, "paymentUrl")
		delete(paying, "paymentUrl")
		is("after a recall", f.invoke(t, t.Context(), event(t, "purchase.json")).Body, paying)
		// What cannot be read may have more time to pay, or none.
		w.DB.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("GetItem", "SALE#")
		time.Sleep(3 * time.Second)
		for _, known := range []string{"payBy", "orderId"} {
			delete(want, known)
		}
		is(accepting, f.invoke(t, t.Context(), event(t, "purchase.json")).Body, map[string]any{"state": "PENDING"})
	})
}
