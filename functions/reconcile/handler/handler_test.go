package handler

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// queue records what is sent. waiting is the depth that it reports.
type queue struct {
	mu       sync.Mutex // sales are reconciled side by side
	sent     []orderq.Message
	waiting  int
	err      error       // of Send
	lost     func() bool // whether a call of Send fails; may be nil
	depthErr error
	asked    func() // called by Depth; may be nil
}

func (q *queue) Send(_ context.Context, m orderq.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return q.err
	}
	if q.lost != nil && q.lost() {
		return errors.New("no answer")
	}
	q.sent = append(q.sent, m)
	return nil
}

func (q *queue) Depth(context.Context) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.asked != nil {
		q.asked()
	}
	return q.waiting, q.depthErr
}

// world is a real ledger over the in-process table, in virtual time.
type world struct {
	testledger.Scheduled
	queue  queue
	most   int // messages per pass; 0 for the handler's own limit
	random func() float64
	answer Answer // the last one
}

func in(t *testing.T, test func(w *world)) {
	testledger.Run(t, func(w *testledger.World) {
		test(&world{Scheduled: testledger.Scheduled{World: w}})
	})
}

// open creates a sale for an hour.
func (w *world) open(saleID string, stock int64, shards int, changes ...func(*sale.Creation)) {
	w.T.Helper()
	w.Open(append(changes, func(c *sale.Creation) {
		c.SaleID, c.Stock, c.Shards, c.OpensAt, c.ClosesAt = saleID, stock, shards, time.Now(), time.Now().Add(time.Hour)
	})...)
}

// reconcile invokes the function as Lambda does, with the given time.
func (w *world) reconcile(payload string, timeout time.Duration) ([]Receipt, error) {
	w.T.Helper()
	h := New(w.LedgerWith(ledger.Options{Random: w.random}), &w.queue, telemetry.New(&w.Log, "reconcile", clock.Wall), clock.Wall)
	if w.most > 0 {
		h.most = w.most
	}
	var err error
	w.answer, err = testledger.Invoke(&w.Scheduled, h.Handle, payload, timeout)
	return w.answer.Receipts, err
}

func (w *world) receipts(payload string) []Receipt {
	w.T.Helper()
	r, err := w.reconcile(payload, 5*time.Minute)
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

func TestReconcilingWritesNeitherStockNorOrders(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 2)
		w.Confirm(w.Crowd("moutai", 0, 5)[:3]...)
		time.Sleep(time.Minute)
		before := w.books()
		for range 3 {
			w.receipts(`{}`)
			w.receipts(string(httpapitest.Event(t, "reconcile-one.json")))
		}
		if after := w.books(); after != before {
			t.Errorf("before\n%s\nafter\n%s (P17)", before, after)
		}
	})
}

// books returns the stock and order items.
func (w *world) books() string {
	var lines []string
	for line := range strings.Lines(w.DB.Dump()) {
		if strings.Contains(line, "STOCK#") || strings.Contains(line, "ORDER#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestAMismatchThatPassesIsNone(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 1)
		w.Crowd("moutai", 0, 2)
		intact := w.DB.Snapshot()
		w.Tamper("STOCK#moutai#0", "STOCK", "stock", -1)
		go func() {
			time.Sleep(5 * time.Second) // the other half of a transaction arrives
			w.DB.Restore(intact)
		}()
		if r := w.receipts(`{"saleId":"moutai"}`); !r[0].Balanced {
			t.Errorf("got %+v", r)
		}
	})
}

func TestAMismatchIsLeftToTheNextRunIfThereIsNoTimeToLookAgain(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 1)
		w.Tamper("STOCK#moutai#0", "STOCK", "stock", -1)
		start := time.Now()
		r, err := w.reconcile(`{}`, 3*ledger.SettleTime) // half of it is for the pass
		if took := time.Since(start); err != nil || len(r) != 0 || took >= ledger.SettleTime {
			t.Errorf("got %+v (%v) after %v, want no receipt yet", r, err, took)
		}
		if r := w.receipts(`{}`); len(r) != 1 || r[0].Balanced {
			t.Errorf("got %+v, want the mismatch", r)
		}
	})
}

// Two claims have eight of eight units.
func TestUnitsAreComparedWithUnits(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 8, 1, func(c *sale.Creation) { c.MaxPerOrder, c.PayWithin = 8, time.Hour })
		for user, units := range map[string]int64{"alice": 6, "bob": 2} {
			if _, err := w.Ledger().Purchase(w.T.Context(), ledger.Request{SaleID: "moutai", User: user, Units: units}); err != nil {
				t.Fatal(err)
			}
		}
		r := w.receipts(`{"saleId":"moutai"}`)
		if line := w.Lines("message")["receipt"].Fields; r[0].Claims != 2 || r[0].Units != 8 || !r[0].Balanced || line["oversold"] != 0.0 {
			t.Errorf("got %+v and %v, want 8 units of 2 orders", r[0], line)
		}
		w.Tamper("STOCK#moutai#0", "STOCK", "seeded", -3)
		w.Log.Reset()
		w.receipts(`{"saleId":"moutai"}`)
		if line := w.Lines("message")["receipt"].Fields; line["oversold"] != 3.0 {
			t.Errorf("got %v, want 3 oversold", line)
		}
	})
}

func TestAMismatchThatStaysIsReportedAndLogged(t *testing.T) {
	for stock, oversold := range map[int64]float64{10: 0, 2: 1} {
		in(t, func(w *world) {
			w.open("moutai", stock, 1)
			w.Crowd("moutai", 0, 2)
			w.Tamper("STOCK#moutai#0", "STOCK", "stock", -1)
			r := w.receipts(`{"saleId":"moutai"}`)
			if r[0].Balanced || len(r[0].Findings) == 0 || !strings.Contains(r[0].Findings[0], "P1") {
				t.Errorf("of %d: got %+v", stock, r)
			}
			line := w.Lines("message")["receipt"].Fields
			if line["unbalanced"] != 1.0 || line["oversold"] != oversold || line["level"] != "ERROR" || line["error"] == nil {
				t.Errorf("of %d: line %v, want %v oversold", stock, line, oversold)
			}
		})
	}
}

func TestAPassIsStoredAlsoWhenItsMessagesTakeAllTheTime(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 100, 1)
		w.Crowd("moutai", 0, 100)
		time.Sleep(time.Minute)
		w.DB.Fault = dynamotest.Fault{Delay: 250 * time.Millisecond}.On("UpdateItem", "") // marks a claim, or stores the pass
		if _, err := w.reconcile(`{}`, 8*time.Second); err != nil || len(w.queue.sent) >= 100 {
			t.Fatalf("%d messages sent (%v), want fewer than all", len(w.queue.sent), err)
		}
		if l, err := w.Ledger().Listing(w.T.Context(), "moutai"); err != nil || l.Cursor == nil {
			t.Errorf("got %+v (%v), want the pass in it", l, err)
		}
	})
}

// Another turn in the same run would only fail again.
func TestASaleThatFailsHasNoOtherTurnThoughItsTimeWasUp(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 1000, 1000) // 250 buckets, of which 16 are read at once
		w.Crowd("moutai", 0, 100)
		time.Sleep(time.Minute)
		w.DB.Fault = dynamotest.Fault{Delay: 900 * time.Millisecond}.On("Query", "")
		sends := 0
		w.queue.lost = func() bool { sends++; return true }
		r, err := w.reconcile(`{}`, 20*time.Second)
		if err == nil || len(r) != 0 || sends != maxFailures {
			t.Errorf("%d receipts after %d sends that failed, want %d: %v", len(r), sends, maxFailures, err)
		}
	})
}

func TestAReceiptIsALineWithTheFiguresThatAlarmsWatch(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 2)
		w.Confirm(w.Crowd("moutai", 0, 5)[:2]...)
		time.Sleep(time.Hour / 2)
		r := w.receipts(string(httpapitest.Event(w.T, "reconcile-all.json")))[0]
		r.AsOf, r.ReadUnits = "", 0
		if diff := cmp.Diff(Receipt{
			SaleID: "moutai", Seeded: 10, Stock: 5, Claims: 5, Pending: 3, Confirmed: 2, Resent: 3, OldestPendingSeconds: 1800, Balanced: true, Findings: []string{},
		}, r); diff != "" {
			t.Errorf("receipt (-want +got):\n%s", diff)
		}
		lines := w.Lines("message")
		if units, _ := lines["receipt"].Fields["readUnits"].(float64); units < 5 {
			t.Errorf("it cost %v read units", units)
		}
		w.IsLine(lines["receipt"], "reconcile", "receipt", map[string]any{
			"saleId": "moutai", "oversold": 0.0, "unbalanced": 0.0, "pending": 3.0, "resent": 3.0, "oldestPendingSeconds": 1800.0,
			"available": 5.0, "readUnits": lines["receipt"].Fields["readUnits"],
		}, map[string]string{
			"oversold": "Count by service", "unbalanced": "Count by service", "pending": "Count by service", "resent": "Count by service",
			"oldestPendingSeconds": "Seconds by service", "readUnits": "Count by service", "available": "Count by service",
		})
		w.IsLine(lines["reconcile"], "reconcile", "reconcile", map[string]any{"result": "ok", "reconciliations": 1.0, "sales": 1.0},
			map[string]string{"reconciliations": "Count by service, result"})
	})
}
