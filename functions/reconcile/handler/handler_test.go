package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock"
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
	t      *testing.T
	db     *dynamotest.DB
	ledger *ledger.Ledger
	queue  queue
	log    bytes.Buffer
	most   int // messages per pass; 0 for the handler's own limit
	random func() float64
	answer Answer // the last one
}

func in(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		// A synctest bubble begins in 2000, before the first order id.
		time.Sleep(time.Until(time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC)))
		w := &world{t: t, db: dynamotest.New(dynamotest.Table{Name: "Ledger", PK: "pk", SK: "sk"})}
		w.ledger = ledger.New(w.db, "Ledger", ledger.Options{})
		test(w)
	})
}

func (w *world) open(saleID string, stock int64, shards int) {
	w.t.Helper()
	c := sale.Creation{SaleID: saleID, Stock: stock, Shards: shards, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour)}
	if err := c.Check(); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.ledger.Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) buy(saleID string, users int) []ledger.ClaimRef {
	w.t.Helper()
	refs := make([]ledger.ClaimRef, users)
	for i := range refs {
		p, err := w.ledger.Purchase(w.t.Context(), ledger.Request{SaleID: saleID, User: fmt.Sprint("user-", i)})
		if err != nil {
			w.t.Fatal(err)
		}
		refs[i] = ledger.ClaimRef{SaleID: saleID, User: p.Claim.User, ClaimID: p.Claim.ID}
	}
	return refs
}

// ref is the claim of a buyer of buy.
func (w *world) ref(saleID string, i int) ledger.ClaimRef {
	w.t.Helper()
	c, err := w.ledger.Claim(w.t.Context(), saleID, fmt.Sprint("user-", i))
	if err != nil {
		w.t.Fatal(err)
	}
	return ledger.ClaimRef{SaleID: saleID, User: c.User, ClaimID: c.ID}
}

func (w *world) confirm(refs []ledger.ClaimRef) {
	w.t.Helper()
	for _, c := range w.ledger.Confirm(w.t.Context(), refs) {
		if c.Err != nil {
			w.t.Fatal(c.Err)
		}
	}
}

// reconcile invokes the function as Lambda does, with the given time.
func (w *world) reconcile(payload string, timeout time.Duration) ([]Receipt, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	h := New(ledger.New(w.db, "Ledger", ledger.Options{Random: w.random}), &w.queue, telemetry.New(&w.log, "reconcile", clock.Wall), clock.Wall)
	if w.most > 0 {
		h.most = w.most
	}
	out, err := lambda.NewHandler(h.Handle).Invoke(ctx, []byte(payload))
	if err != nil {
		return nil, err
	}
	w.answer = Answer{}
	if err := json.Unmarshal(out, &w.answer); err != nil {
		w.t.Fatalf("answer %s: %v", out, err)
	}
	return w.answer.Receipts, nil
}

func (w *world) receipts(payload string) []Receipt {
	w.t.Helper()
	r, err := w.reconcile(payload, 5*time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func TestReconcilingWritesNeitherStockNorOrders(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 2)
		w.confirm(w.buy("moutai", 5)[:3])
		time.Sleep(time.Minute)
		before := w.books()
		for range 3 {
			w.receipts(`{}`)
			w.receipts(`{"saleId":"moutai"}`)
		}
		if after := w.books(); after != before {
			t.Errorf("before\n%s\nafter\n%s (P17)", before, after)
		}
	})
}

// books returns the stock and order items.
func (w *world) books() string {
	var lines []string
	for line := range strings.Lines(w.db.Dump()) {
		if strings.Contains(line, "STOCK#") || strings.Contains(line, "ORDER#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestAMismatchThatPassesIsNone(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 1)
		w.buy("moutai", 2)
		intact := w.db.Snapshot()
		w.tamper(-1)
		go func() {
			time.Sleep(5 * time.Second) // the other half of a transaction arrives
			w.db.Restore(intact)
		}()
		if r := w.receipts(`{"saleId":"moutai"}`); !r[0].Balanced {
			t.Errorf("got %+v", r)
		}
	})
}

func TestAMismatchIsLeftToTheNextRunIfThereIsNoTimeToLookAgain(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 1)
		w.tamper(-1)
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

func TestAMismatchThatStaysIsReportedAndLogged(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 10, 1)
		w.buy("moutai", 2)
		w.tamper(-1)
		r := w.receipts(`{"saleId":"moutai"}`)
		if r[0].Balanced || len(r[0].Findings) == 0 || !strings.Contains(r[0].Findings[0], "P1") {
			t.Errorf("got %+v", r)
		}
		if log := w.log.String(); !strings.Contains(log, `"unbalanced":1`) || !strings.Contains(log, `"level":"ERROR"`) {
			t.Errorf("log: %s", log)
		}
	})
}

func TestASaleTooLargeForOneRunIsFinishedByTheNext(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 300, 280) // 70 buckets, of which 16 are read at once
		w.confirm(w.buy("moutai", 60))
		w.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "Query" {
				return dynamotest.Fault{Delay: 900 * time.Millisecond}
			}
			return dynamotest.Fault{}
		}
		runs := 0
		for {
			r, err := w.reconcile(`{}`, 8*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if runs++; len(r) == 1 {
				if !r[0].Balanced || r[0].Confirmed != 60 {
					t.Errorf("got %+v", r[0])
				}
				break
			}
			if runs > 10 {
				t.Fatal("no run comes to the end")
			}
		}
		if runs < 2 {
			t.Error("one run was enough: nothing was resumed")
		}
	})
}

func TestAPassIsStoredAlsoWhenItsMessagesTakeAllTheTime(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 100, 1)
		w.buy("moutai", 100)
		time.Sleep(time.Minute)
		w.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "UpdateItem" { // marks a claim, or stores the pass
				return dynamotest.Fault{Delay: 250 * time.Millisecond}
			}
			return dynamotest.Fault{}
		}
		if _, err := w.reconcile(`{}`, 8*time.Second); err != nil || len(w.queue.sent) >= 100 {
			t.Fatalf("%d messages sent (%v), want fewer than all", len(w.queue.sent), err)
		}
		if l, err := w.ledger.Listing(w.t.Context(), "moutai"); err != nil || l.Cursor == nil {
			t.Errorf("got %+v (%v), want the pass in it", l, err)
		}
	})
}

// Another turn in the same run would only fail again.
func TestASaleThatFailsHasNoOtherTurnThoughItsTimeWasUp(t *testing.T) {
	in(t, func(w *world) {
		w.open("moutai", 1000, 1000) // 250 buckets, of which 16 are read at once
		w.buy("moutai", 100)
		time.Sleep(time.Minute)
		w.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "Query" {
				return dynamotest.Fault{Delay: 900 * time.Millisecond}
			}
			return dynamotest.Fault{}
		}
		sends := 0
		w.queue.lost = func() bool { sends++; return true }
		r, err := w.reconcile(`{}`, 20*time.Second)
		if err == nil || len(r) != 0 || sends != maxFailures {
			t.Errorf("%d receipts after %d sends that failed, want %d: %v", len(r), sends, maxFailures, err)
		}
	})
}

// sale returns the sale in the table.
func (w *world) sale(saleID string) sale.Sale {
	w.t.Helper()
	s, err := ledger.New(w.db, "Ledger", ledger.Options{}).Sale(w.t.Context(), saleID)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// tamper adds units to the stock behind the ledger's back.
func (w *world) tamper(units int64) {
	w.t.Helper()
	if err := w.db.Tamper(w.t.Context(), "Ledger", "STOCK#moutai#0", "STOCK", "stock", units); err != nil {
		w.t.Fatal(err)
	}
}
