package handler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

// openUnpaid opens a sale for an hour whose orders are to be paid within half an hour.
func (w *world) openUnpaid(saleID string, stock int64) {
	w.t.Helper()
	c := sale.Creation{
		SaleID: saleID, Stock: stock, Shards: 1, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), PayWithin: 30 * time.Minute,
	}
	if _, err := w.ledger.Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// pays reports a payment; order 0 is unknown.
func (w *world) pays(saleID string, order uint64, reference string) *sale.Refund {
	w.t.Helper()
	done, err := w.ledger.Pay(w.t.Context(), sale.Payment{
		Provider: "stripe", Reference: reference, SaleID: saleID, OrderID: order, Amount: 100, Currency: "EUR",
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return done.Refund
}

func (w *world) orderOf(saleID string, i int) uint64 {
	w.t.Helper()
	c, err := ledger.New(w.db, "Ledger", ledger.Options{}).Claim(w.t.Context(), saleID, fmt.Sprint("user-", i))
	if err != nil {
		w.t.Fatal(err)
	}
	return c.OrderID
}

func (w *world) releases(saleID string) {
	w.t.Helper()
	listing, err := w.ledger.Listing(w.t.Context(), saleID)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := ledger.New(w.db, "Ledger", ledger.Options{}).ReleaseDue(w.t.Context(), listing, 0); err != nil {
		w.t.Fatal(err)
	}
}

func TestASaleIsDrainedOnlyWhenEveryOrderIsPaidOrReleasedAndEveryUnitIsBack(t *testing.T) {
	in(t, func(w *world) {
		w.openUnpaid("moutai", 3)
		w.confirm(w.buy("moutai", 3))
		w.pays("moutai", w.orderOf("moutai", 0), "pi_1")
		time.Sleep(time.Hour + ledger.DrainAfter + time.Second)
		for range 2 {
			if r := w.receipts(`{}`); len(r) != 1 || r[0].Paid != 1 || r[0].Unpaid != 2 || r[0].Released != 0 || !r[0].Balanced {
				w.t.Fatalf("got %+v, want a receipt: two are unpaid", r)
			}
		}
		w.db.Fault = func(c dynamotest.Call) dynamotest.Fault { // the units cannot be put back
			if c.Op == "TransactWriteItems" && strings.Contains(strings.Join(c.Keys, " "), "SALE#moutai") {
				return dynamotest.Fault{Kind: dynamotest.ServerError}
			}
			return dynamotest.Fault{}
		}
		listing, err := w.ledger.Listing(w.t.Context(), "moutai")
		if err != nil {
			w.t.Fatal(err)
		}
		if done, err := w.ledger.ReleaseDue(w.t.Context(), listing, 0); err == nil || done.Released != 2 {
			w.t.Fatalf("got %+v (%v)", done, err)
		}
		w.db.Fault = nil
		if r := w.receipts(`{}`); len(r) != 1 || r[0].Unpaid != 0 || r[0].Released != 2 || r[0].Stock != 0 || !r[0].Balanced {
			w.t.Fatalf("got %+v, want a receipt: two units are not back", r)
		}
		if r := w.receipts(`{}`); len(r) != 1 {
			w.t.Fatal("a sale with units that are not back was drained")
		}
		w.releases("moutai")
		if r := w.receipts(`{}`); len(r) != 1 || r[0].Stock != 2 {
			w.t.Fatalf("got %+v", r)
		}
		if r := w.receipts(`{}`); len(r) != 0 {
			w.t.Errorf("got %+v, want it drained", r)
		}
	})
}

func TestRefundsAreCountedUntilTheyAreMarkedAlsoThoseOfDrainedSalesAndUnknownOrders(t *testing.T) {
	in(t, func(w *world) {
		w.openUnpaid("moutai", 3)
		w.confirm(w.buy("moutai", 2))
		w.pays("moutai", w.orderOf("moutai", 0), "pi_1")
		if w.pays("moutai", w.orderOf("moutai", 0), "pi_2") == nil {
			w.t.Fatal("no refund is due")
		}
		r := w.receipts(`{}`)
		if lines := w.lines(); r[0].RefundsDue != 1 || lines["receipt"].Fields["refundsDue"] != 1.0 || lines["receipt"].Fields["unpaid"] != 1.0 ||
			lines["receipt"].Metrics["refundsDue"] != "Count by service" || len(lines) != 2 {
			w.t.Errorf("got %+v, %v", r, lines)
		}
		time.Sleep(time.Hour + ledger.DrainAfter + time.Second)
		w.releases("moutai")
		w.receipts(`{}`)
		w.lines()
		due := func(want float64) {
			w.t.Helper()
			r := w.receipts(`{}`)
			if lines := w.lines(); len(r) != 0 || lines["refunds"].Fields["refundsDue"] != want || lines["refunds"].Metrics["refundsDue"] != "Count by service" {
				w.t.Errorf("got %+v, %v, want %v refunds due of a drained sale", r, lines, want)
			}
		}
		due(1)
		w.pays("moutai", w.orderOf("moutai", 1), "pi_3") // released
		w.pays("", 0, "pi_4")
		due(3)
		for _, payment := range []string{"stripe#pi_2", "stripe#pi_3"} {
			if _, _, err := w.ledger.MarkRefunded(w.t.Context(), "moutai", payment); err != nil {
				w.t.Fatal(err)
			}
		}
		due(1)
		if _, _, err := w.ledger.MarkRefunded(w.t.Context(), "", "stripe#pi_4"); err != nil {
			w.t.Fatal(err)
		}
		w.receipts(`{}`)
		if lines := w.lines(); len(lines) != 1 {
			w.t.Errorf("got %v, want no line when nothing is due", lines)
		}
	})
}

func TestRefundsThatCannotBeReadAreAFailureAndKeepNoSaleFromItsReceipt(t *testing.T) {
	in(t, func(w *world) {
		w.openUnpaid("moutai", 3)
		w.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "Query" && c.Keys[0] == "REFUND#" {
				return dynamotest.Fault{Kind: dynamotest.Throttle}
			}
			return dynamotest.Fault{}
		}
		_, err := w.reconcile(`{}`, time.Minute)
		lines := w.lines()
		if err == nil || lines["refunds"].Fields["outcome"] != "busy" || lines["receipt"].Fields["outcome"] != "ok" {
			w.t.Errorf("%v, %v", err, lines)
		}
	})
}

func TestARefundThatCannotBeReadHidesNoOtherAndKeepsNoMessageFromBeingSent(t *testing.T) {
	in(t, func(w *world) {
		w.openUnpaid("moutai", 5)
		w.confirm(w.buy("moutai", 3)[:1])
		for saleID, order := range map[string]uint64{"moutai": w.orderOf("moutai", 0), "": 0} {
			for i := range 3 {
				w.pays(saleID, order, fmt.Sprint("pi_", saleID, i))
			}
			if err := w.db.Tamper(w.t.Context(), "Ledger", "REFUND#"+saleID, fmt.Sprint("stripe#pi_", saleID, 1), "minReader", sale.Reads+1); err != nil {
				w.t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		sent := len(w.queue.sent)
		_, err := w.reconcile(`{}`, time.Minute)
		lines := w.lines()
		receipt, refunds := lines["receipt"].Fields, lines["refunds"].Fields
		if err == nil || len(w.queue.sent)-sent != 2 || receipt["unbalanced"] != 1.0 || receipt["refundsDue"] != 1.0 || refunds["refundsDue"] != 2.0 {
			w.t.Errorf("%d messages sent, %v, %v", len(w.queue.sent)-sent, err, lines)
		}
	})
}

// Their orders are final, but may be paid: before and after they are drained.
func TestRefundsOfSalesThatAskForNoPaymentAreCountedAndOthersAreNotRead(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 3, 1)
		w.confirm(w.buy("moutai", 3))
		reads := 0
		w.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "Query" && strings.HasPrefix(c.Keys[0], "REFUND#") {
				reads++
			}
			return dynamotest.Fault{}
		}
		counts := func(drained bool, wantReads int, want any) {
			w.t.Helper()
			reads = 0
			w.receipts(`{}`)
			lines := w.lines()
			if got := lines["refunds"].Fields["refundsDue"]; got != want || reads != wantReads || drained != (lines["receipt"].Fields == nil) {
				w.t.Errorf("refunds due: %v after %d reads, want %v after %d; %v", got, reads, want, wantReads, lines)
			}
		}
		counts(false, 1, nil) // of unknown orders
		w.pays("", 0, "pi_1")
		counts(false, 1, 1.0)
		time.Sleep(time.Hour + ledger.DrainAfter + time.Second)
		w.receipts(`{}`)
		w.lines()
		counts(true, 1, 1.0)
		w.pays("moutai", w.orderOf("moutai", 0), "pi_2")
		counts(true, 1, 1.0)
		w.pays("moutai", w.orderOf("moutai", 0), "pi_3")
		counts(true, 2, 2.0)
	})
}

// overpaid opens sales that are drained, each with one refund due.
func (w *world) overpaid(sales int) {
	w.t.Helper()
	for i := range sales {
		saleID := fmt.Sprint("over-", i)
		w.open(saleID, 1, 1)
		w.confirm(w.buy(saleID, 1))
		for _, reference := range []string{"pi_1_", "pi_2_"} {
			w.pays(saleID, w.orderOf(saleID, 0), reference+saleID)
		}
	}
	time.Sleep(time.Hour + ledger.DrainAfter + time.Second)
	if r := w.receipts(`{}`); len(r) != sales {
		w.t.Fatalf("%d receipts", len(r))
	}
	w.log.Reset()
}

// published returns the refunds due that were published since the last call; nil if none were.
func (w *world) published() (due any) {
	w.t.Helper()
	for line := range strings.Lines(w.log.String()) {
		if parsed, err := telemetrytest.Parse([]byte(line)); err != nil {
			w.t.Error(err)
		} else if parsed.Fields["message"] == "refunds" {
			due = parsed.Fields["refundsDue"]
		}
	}
	w.log.Reset()
	return due
}

func TestRefundsOfAThousandDrainedSalesAreCountedInARunAndDelayNoOther(t *testing.T) {
	in(t, func(w *world) {
		w.overpaid(1000)
		for i := range 50 {
			saleID := fmt.Sprint("open-", i)
			w.open(saleID, 10, 1)
			w.buy(saleID, 1)
		}
		w.db.Fault = func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Delay: 10 * time.Millisecond} }
		w.db.ResetUsage()
		began := time.Now()
		r := w.receipts(`{}`)
		if took, due := time.Since(began), w.published(); len(r) != 50 || due != 1000.0 || took > 5*time.Second {
			w.t.Errorf("%d receipts and %v refunds due after %v", len(r), due, took)
		} else {
			w.t.Logf("1,000 refunds and 50 sales: %v, %v", took, w.db.Calls())
		}
	})
}

// Each count takes nearly a second, so that 15 s suffice for 256 of 320 sales.
func TestACountOfRefundsThatIsCutOffIsContinuedAndPublishedWhenItIsComplete(t *testing.T) {
	in(t, func(w *world) {
		w.overpaid(320)
		w.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "Query" && strings.HasPrefix(c.Keys[0], "REFUND#over") {
				return dynamotest.Fault{Delay: 900 * time.Millisecond}
			}
			return dynamotest.Fault{}
		}
		h := New(w.ledger, &w.queue, telemetry.New(&w.log, "reconcile", clock.Wall), clock.Wall)
		for run, want := range []any{nil, 320.0, nil, 320.0} {
			ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
			began := time.Now()
			_, err := h.Handle(ctx, []byte(`{}`))
			cancel()
			if took, got := time.Since(began), w.published(); err != nil || got != want || took > 16*time.Second {
				w.t.Errorf("run %d: %v refunds due after %v (%v), want %v", run+1, got, took, err, want)
			}
		}
	})
}
