package ledger_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// Every order of five steps in which two environments, whose clocks are 14 minutes apart,
// record refunds, all refunds are marked, time passes, and refunds are counted: whatever is
// due afterwards, the sale is on the list.
func TestADrainedSaleIsOnTheListWhileARefundIsDueInEveryOrderOfSteps(t *testing.T) {
	const length, steps = 5, 6
	w, db, _ := faulty(t)
	c := w.Open(4, 2)
	id := w.Ordered("alice")[0]
	w.Settles(ledgertest.PaymentOf(id, "pi_0"))
	w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
	r, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := w.Ledger.Drain(w.Ctx, r); !done || err != nil {
		t.Fatalf("the sale is not drained: %v", err)
	}
	drained, start, orders, removed := db.Snapshot(), w.Now(), 0, 0
	play := func(order []int) {
		db.Restore(drained)
		w.Pass(start.Sub(w.Now()))
		slow := ledger.New(db, table, ledger.Options{Now: func() time.Time { return w.Now().Add(-14 * time.Minute) }})
		environments := []*ledger.Ledger{w.Environment(), slow}
		payments, due := 0, []string(nil)
		pays := func(e int) {
			payments++
			p := ledgertest.PaymentOf(id, fmt.Sprint("pi_", payments))
			if done, err := environments[e].Pay(w.Ctx, p); err != nil || !done.New {
				t.Fatalf("%v: %+v (%v)", order, done, err)
			}
			due = append(due, p.ID())
			w.Pass(time.Second)
		}
		counts := func(before func()) {
			l, err := w.Ledger.Listing(w.Ctx, "moutai")
			if err != nil {
				t.Fatal(err)
			}
			book := w.Hooked(dynamotest.Before("UpdateItem", sync.OnceFunc(before)))
			if err := book.CountRefunds(w.Ctx, &ledger.RefundCount{SaleID: "moutai", NotedAt: l.RefundAt}); err != nil {
				t.Fatal(err)
			}
			if after, err := w.Ledger.Listing(w.Ctx, "moutai"); err == nil && after.RefundAt.IsZero() && !l.RefundAt.IsZero() {
				removed++
			}
		}
		for _, step := range order {
			switch step {
			case 0, 1:
				pays(step)
			case 2:
				for _, payment := range due {
					if _, _, err := w.Ledger.MarkRefunded(w.Ctx, "moutai", payment); err != nil {
						t.Fatal(err)
					}
				}
				due = nil
			case 3:
				w.Pass(50 * time.Minute)
			case 4:
				counts(func() {})
			case 5: // a refund is recorded just before the note is removed
				counts(func() { pays(0) })
			}
		}
		if l, err := w.Ledger.Listings(w.Ctx); err != nil || len(due) > 0 && len(l) != 1 {
			t.Errorf("steps %v: %d refunds are due, and the list has %d sales (%v)", order, len(due), len(l), err)
		}
	}
	order := make([]int, length)
	for n, more := 0, true; more; n++ {
		rest := n
		for i := range order {
			order[i], rest = rest%steps, rest/steps
		}
		if more = rest == 0; more {
			orders++
			play(order)
		}
	}
	if removed == 0 {
		t.Error("no count removed a note")
	}
	t.Logf("%d orders of steps, %d notes removed", orders, removed)
}

// manyRefunds is the table of a sale with very many refunds, generated when read.
type manyRefunds struct {
	ledger.API // nothing else may be called
	left       int
	live       []uint64 // bytes in use when a page is read
	// When that many are left, the caller's time ends.
	cut    int
	cancel context.CancelFunc
}

func (m *manyRefunds) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if m.cancel != nil && m.left == m.cut {
		m.cancel()
		m.cancel = nil
		return nil, context.Canceled
	}
	if m.left%10_000 == 0 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		m.live = append(m.live, s.HeapAlloc)
	}
	if key := in.ExclusiveStartKey; key != nil && key["sk"].(*types.AttributeValueMemberS).Value != "stripe#"+strconv.Itoa(m.left) {
		return nil, fmt.Errorf("the page after %v is read, and %d are left", key, m.left)
	}
	out := &dynamodb.QueryOutput{}
	for range 5000 { // of 200 bytes each: a megabyte
		m.left--
		out.Items = append(out.Items, map[string]types.AttributeValue{
			"pk": text("REFUND#moutai"), "sk": text("stripe#" + strconv.Itoa(m.left)), "reason": text("amount"),
			"amount": number(int64(m.left)), "currency": text("EUR"), "at": number(1), "orderId": number(1),
		})
	}
	if m.left > 0 {
		out.LastEvaluatedKey = map[string]types.AttributeValue{"pk": text("REFUND#moutai"), "sk": text("stripe#" + strconv.Itoa(m.left))}
	}
	return out, nil
}

func TestRefundsAreCountedPageByPage(t *testing.T) {
	const refunds = 200_000
	m := &manyRefunds{left: refunds}
	c := &ledger.RefundCount{SaleID: "moutai"}
	if err := ledger.New(m, table, ledger.Options{}).CountRefunds(t.Context(), c); err != nil || c.Due != refunds || !c.Complete {
		t.Fatalf("got %+v (%v)", c, err)
	}
	for _, live := range m.live[1:] {
		if grown := int64(live) - int64(m.live[0]); grown > 16<<20 {
			t.Errorf("%d bytes more are in use than before the first page", grown)
		}
	}
}

func TestACountThatIsCutOffContinuesBehindTheLastPage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &manyRefunds{left: 20_000, cut: 10_000, cancel: cancel}
	l := ledger.New(m, table, ledger.Options{})
	c := &ledger.RefundCount{SaleID: "moutai"}
	if err := l.CountRefunds(ctx, c); sale.CodeOf(err) != sale.Busy || c.Complete || c.Due != 10_000 {
		t.Fatalf("got %+v (%v), want a count that is cut off", c, err)
	}
	if err := l.CountRefunds(t.Context(), c); err != nil || !c.Complete || c.Due != 20_000 {
		t.Errorf("got %+v (%v)", c, err)
	}
}
