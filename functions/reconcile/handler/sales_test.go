package handler

import (
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// others reconciles the sales a, bad and c, of which bad must fail for that reason and the others get their receipts.
func (w *world) others(spoil func(), why string) {
	w.T.Helper()
	for _, saleID := range []string{"a", "bad", "c"} {
		w.open(saleID, 10, 2)
		w.Crowd(saleID, 0, 1)
	}
	time.Sleep(time.Minute)
	spoil()
	start := time.Now()
	if _, err := w.reconcile(`{}`, 5*time.Minute); err == nil {
		w.T.Error("the invocation does not fail")
	}
	if took := time.Since(start); took >= ledger.SettleTime {
		w.T.Errorf("the sale was tried again in this run, which took %v", took)
	}
	if sent := w.queue.sent; len(sent) != 2 || sent[0].SaleID == "bad" || sent[1].SaleID == "bad" {
		w.T.Errorf("sent %v, want the messages of a and c", sent)
	}
	if log := w.Log.String(); !strings.Contains(log, "sale bad: "+why) {
		w.T.Errorf("the log does not name the sale, and why: %s", log)
	}
	if lines := w.Lines("message", "saleId"); lines["receipt a"].Fields == nil || lines["receipt bad"].Fields != nil || lines["receipt c"].Fields == nil {
		w.T.Errorf("lines %v, want receipts of a and c", lines)
	}
}

func TestASaleThatFailsDoesNotKeepTheOthersFromTheirReceipts(t *testing.T) {
	for name, fault := range testledger.OneFails {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) { w.others(func() { w.DB.Fault = dynamotest.On("Query", "CLAIM#bad#", fault) }, "") })
		})
	}
}

func TestATableThatIsBusyForTwoSecondsIsNoFailure(t *testing.T) {
	for name, call := range map[string][2]string{
		"storing a pass": {"UpdateItem", "SALES"}, "marking a claim": {"UpdateItem", "CLAIM#"}, "reading the claims": {"Query", "CLAIM#"},
		"reading the shards": {"BatchGetItem", "STOCK#"}, "reading the sale": {"GetItem", "SALE#"}, "listing the sales": {"Query", "SALES"},
		"reading refunds": {"Query", "REFUND#"}, "storing a pass, however long": {"UpdateItem", "SALES"},
	} {
		isStored, busy := true, 2*time.Second
		if name == "storing a pass, however long" {
			isStored, busy = false, time.Hour
		}
		in(t, func(w *world) {
			w.random = func() float64 { return 0.999 }
			w.open("moutai", 10, 2)
			w.Crowd("moutai", 0, 1)
			time.Sleep(time.Minute)
			w.BusyFor(busy, call[0], call[1])
			r := w.receipts(`{}`)
			if listing, err := w.Ledger().Listing(w.T.Context(), "moutai"); err != nil || (listing.Cursor != nil) != isStored || len(r) != 1 || len(w.queue.sent) != 1 {
				w.T.Errorf("%s: stored %+v (%v), receipts %+v, sent %v", name, listing.Cursor, err, r, w.queue.sent)
			}
		})
	}
}

func TestASaleForANewerReleaseIsLeftAloneAndTheOthersGetTheirReceipts(t *testing.T) {
	for name, keys := range map[string][2]string{"its listing": {"SALES", "bad"}, "its item": {"SALE#bad", "SALE"}} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.others(func() {
					w.Newer(keys[0], keys[1])
					w.DB.Fault = dynamotest.On("", "bad", func(c dynamotest.Call) dynamotest.Fault {
						if dynamotest.IsWrite(c.Op) {
							t.Errorf("%s %s", c.Op, c.Keys)
						}
						return dynamotest.Fault{}
					})
				}, "newer-version: ")
				if _, err := w.reconcile(`{"saleId":"bad"}`, 5*time.Minute); err == nil || !strings.Contains(w.Log.String(), `"outcome":"newer-version"`) {
					t.Errorf("by name: %v, %s", err, w.Log.String())
				}
			})
		})
	}
}

func TestADraftIsNoFailureAndNoSecret(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 2)
		opensAt, closesAt := time.Now().Add(30*time.Minute), time.Now().Add(40*time.Minute)
		w.Draft("draft", func(c *sale.Creation) { c.OpensAt, c.ClosesAt = opensAt, closesAt })
		for _, tt := range []struct {
			at       time.Time
			level    string
			unseeded float64
		}{
			{opensAt.Add(-15*time.Minute - time.Millisecond), "INFO", 0}, {opensAt.Add(-15 * time.Minute), "WARN", 1},
			{opensAt, "WARN", 1}, {closesAt.Add(-time.Millisecond), "WARN", 1}, {closesAt, "INFO", 0},
		} {
			time.Sleep(time.Until(tt.at))
			if r := w.receipts(`{}`); len(r) != 1 || r[0].SaleID != "moutai" {
				w.T.Errorf("got %+v", r)
			}
			line := w.Lines("message")["draft"]
			if line.Fields["level"] != tt.level || line.Fields["saleId"] != "draft" || line.Fields["unseeded"] != tt.unseeded {
				w.T.Errorf("at %v: line %v, want %s and %g unseeded", tt.at, line.Fields, tt.level, tt.unseeded)
			}
			if line.Metrics["unseeded"] != "Count by service" {
				w.T.Errorf("at %v: metrics %v", tt.at, line.Metrics)
			}
		}
		if _, err := w.reconcile(`{"saleId":"draft"}`, time.Minute); err == nil {
			w.T.Error("a receipt of a draft that was asked for by name")
		}
	})
}

func TestTheSaleThatHasWaitedLongestComesFirst(t *testing.T) {
	in(t, func(w *world) {
		for _, saleID := range []string{"a", "b", "c"} {
			w.open(saleID, 10, 1)
			time.Sleep(time.Second)
		}
		order := func(r []Receipt) string {
			text := ""
			for _, one := range r {
				text += one.SaleID
			}
			return text
		}
		if got := order(w.receipts(`{}`)); got != "abc" {
			w.T.Errorf("got %s", got)
		}
		// a is reconciled by hand, so it has waited least.
		time.Sleep(time.Second)
		w.receipts(`{"saleId":"a"}`)
		if got := order(w.receipts(`{}`)); got != "bca" {
			w.T.Errorf("got %s, want the one that was just looked at last", got)
		}
		w.open("new", 10, 1)
		if got := order(w.receipts(`{}`)); !strings.HasPrefix(got, "new") {
			w.T.Errorf("got %s, want the new sale first", got)
		}
	})
}
