package handler

import (
	"context"
	"fmt"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// payable makes a sale ask for payment within half an hour.
func payable(c *sale.Creation) { c.PayWithin = 30 * time.Minute }

func TestRefundsAreCountedUntilTheyAreMarkedAlsoThoseOfDrainedSalesAndUnknownOrders(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 3, 1, payable)
		w.Confirm(w.Crowd("moutai", 0, 2)...)
		w.PayIn("moutai", "user-0", "pi_1", 100)
		if w.PayIn("moutai", "user-0", "pi_2", 100).Refund == nil {
			w.T.Fatal("no refund is due")
		}
		r := w.receipts(`{}`)
		if lines := w.Lines("message"); r[0].RefundsDue != 1 || lines["receipt"].Fields["refundsDue"] != 1.0 || lines["receipt"].Fields["unpaid"] != 1.0 ||
			lines["receipt"].Metrics["refundsDue"] != "Count by service" || len(lines) != 2 {
			w.T.Errorf("got %+v, %v", r, lines)
		}
		time.Sleep(time.Hour + ledger.DrainAfter + time.Second)
		w.Release()
		w.receipts(`{}`)
		w.Lines("message")
		due := func(want float64) {
			w.T.Helper()
			r := w.receipts(`{}`)
			if lines := w.Lines("message"); len(r) != 0 || lines["refunds"].Fields["refundsDue"] != want || lines["refunds"].Metrics["refundsDue"] != "Count by service" {
				w.T.Errorf("got %+v, %v, want %v refunds due of a drained sale", r, lines, want)
			}
		}
		due(1)
		w.PayIn("moutai", "user-1", "pi_3", 100) // released
		w.PayIn("", "", "pi_4", 100)
		due(3)
		for _, payment := range []string{"stripe#pi_2", "stripe#pi_3"} {
			if err := w.Ledger().MarkRefunds(w.T.Context(), "moutai", []string{payment}, "")[0].Err; err != nil {
				w.T.Fatal(err)
			}
		}
		due(1)
		if err := w.Ledger().MarkRefunds(w.T.Context(), "", []string{"stripe#pi_4"}, "")[0].Err; err != nil {
			w.T.Fatal(err)
		}
		w.receipts(`{}`)
		if lines := w.Lines("message"); len(lines) != 1 {
			w.T.Errorf("got %v, want no line when nothing is due", lines)
		}
	})
}

// In the sale, which is not drained, a receipt says it, and of the unknown order the line of the refunds.
func TestItIsSaidForHowLongRefundsThatWereSentHaveWaited(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 5, 1, payable)
		w.Confirm(w.Crowd("moutai", 0, 3)[:1]...)
		waits := func(line string, unknown, accepted any) {
			w.T.Helper()
			w.receipts(`{}`)
			of := w.Lines("message")[line]
			got := []any{of.Fields["refundUnknownSeconds"], of.Fields["refundAcceptedSeconds"]}
			if got[0] != unknown || got[1] != accepted || unknown != nil && of.Metrics["refundUnknownSeconds"] != "Seconds by service" {
				w.T.Errorf("%s: got %v, want %v and %v", line, of, unknown, accepted)
			}
		}
		s := sale.Sending{ID: sale.SendingID(time.Now(), "press"), AsOf: time.Now().Add(time.Hour)}
		send := func(saleID, payment string) sale.Refund {
			w.T.Helper()
			user := map[string]string{"moutai": "user-0"}[saleID]
			r, taken, err := w.Ledger().TakeRefund(w.T.Context(), *w.PayIn(saleID, user, payment, 100).Refund, &s, "live")
			if err != nil || !taken {
				w.T.Fatal(err)
			}
			time.Sleep(time.Minute)
			return r
		}
		note := func(r sale.Refund, money ...sale.MoneyReport) {
			w.T.Helper()
			if _, err := w.Ledger().NoteSent(w.T.Context(), r, r.Sent.Accepted("re_1"), money); err != nil {
				w.T.Fatal(err)
			}
		}
		w.PayIn("moutai", "user-0", "pi_0", 100)
		for line, saleID := range map[string]string{"receipt": "moutai", "refunds": ""} {
			waits(line, nil, nil)
			first, second := send(saleID, "pi_1"+saleID), send(saleID, "pi_2"+saleID)
			waits(line, 120.0, nil)
			note(first)
			waits(line, 60.0, 120.0)
			note(second, sale.MoneyReport{
				Provider: "stripe", Reference: "pi_2" + saleID, MayBeOurs: true,
				Currency: "CNY", Refund: &sale.RefundReport{ID: "re_1", State: sale.RefundDone, Amount: 100},
			})
			waits(line, nil, 120.0)
		}
	})
}

func TestRefundsThatCannotBeReadAreAFailureAndKeepNoSaleFromItsReceipt(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 3, 1, payable)
		w.DB.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "Query" && c.Keys[0] == "REFUND#" {
				return dynamotest.Fault{Kind: dynamotest.Throttle}
			}
			return dynamotest.Fault{}
		}
		_, err := w.reconcile(`{}`, time.Minute)
		lines := w.Lines("message")
		if err == nil || lines["refunds"].Fields["outcome"] != "busy" || lines["receipt"].Fields["outcome"] != "ok" {
			w.T.Errorf("%v, %v", err, lines)
		}
	})
}

func TestARefundThatCannotBeReadHidesNoOtherAndKeepsNoMessageFromBeingSent(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 5, 1, payable)
		w.Confirm(w.Crowd("moutai", 0, 3)[:1]...)
		for saleID, user := range map[string]string{"moutai": "user-0", "": ""} {
			for i := range 3 {
				w.PayIn(saleID, user, fmt.Sprint("pi_", saleID, i), 100)
			}
			w.Newer("REFUND#"+saleID, fmt.Sprint("stripe#pi_", saleID, 1))
		}
		time.Sleep(time.Minute)
		sent := len(w.queue.sent)
		_, err := w.reconcile(`{}`, time.Minute)
		lines := w.Lines("message")
		receipt, refunds := lines["receipt"].Fields, lines["refunds"].Fields
		if err == nil || len(w.queue.sent)-sent != 2 || receipt["unbalanced"] != 1.0 || receipt["refundsDue"] != 1.0 || refunds["refundsDue"] != 2.0 {
			w.T.Errorf("%d messages sent, %v, %v", len(w.queue.sent)-sent, err, lines)
		}
	})
}

// overpaid opens sales that are drained, each with one refund due.
func (w *world) overpaid(sales int) {
	w.T.Helper()
	for i := range sales {
		saleID := fmt.Sprint("over-", i)
		w.open(saleID, 1, 1)
		w.Confirm(w.Crowd(saleID, 0, 1)...)
		for _, reference := range []string{"pi_1_", "pi_2_"} {
			w.PayIn(saleID, "user-0", reference+saleID, 100)
		}
	}
	time.Sleep(time.Hour + ledger.DrainAfter + time.Second)
	if r := w.receipts(`{}`); len(r) != sales {
		w.T.Fatalf("%d receipts", len(r))
	}
	w.Log.Reset()
}

// Each count takes nearly a second, so that 15 s suffice for 256 of 320 sales.
func TestACountOfRefundsThatIsCutOffIsContinuedAndPublishedWhenItIsComplete(t *testing.T) {
	in(t, func(w *world) {
		w.overpaid(320)
		w.DB.Fault = dynamotest.Fault{Delay: 900 * time.Millisecond}.On("Query", "REFUND#over")
		h := New(w.Ledger(), &w.queue, telemetry.New(&w.Log, "reconcile", clock.Wall), clock.Wall)
		for run, want := range []any{nil, 320.0, nil, 320.0} {
			ctx, cancel := context.WithTimeout(w.T.Context(), 5*time.Minute)
			began := time.Now()
			_, err := h.Handle(ctx, []byte(`{}`))
			cancel()
			if took, got := time.Since(began), w.Lines("message")["refunds"].Fields["refundsDue"]; err != nil || got != want || took > 16*time.Second {
				w.T.Errorf("run %d: %v refunds due after %v (%v), want %v", run+1, got, took, err, want)
			}
		}
	})
}
