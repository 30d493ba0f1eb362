package books

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// agrees makes the pass of reconcile over the sale, which shares no code with the
// recount, and expects the same of it.
func (w *world) agrees(r *Receipt) {
	w.T.Helper()
	audit := &ledger.Audit{SaleID: "moutai"}
	for {
		theirs, err := w.Ledger.Step(w.Ctx, audit, func(sale.Claim) {})
		w.ok(err)
		if theirs == nil {
			continue
		}
		if theirs.Balanced != r.Balanced || theirs.Stock != r.Stock || theirs.Claims != r.Claims || theirs.Pending != r.Pending {
			w.T.Errorf("reconcile says %+v, the recount %+v", theirs, r)
		}
		return
	}
}

// cutOff runs what a writer does that dies after that many writes.
func (w *world) cutOff(writes int, do func(context.Context, *ledger.Ledger) error) {
	w.T.Helper()
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	// Writes are counted and applied one at a time: otherwise the death caused by the next
	// write could cancel a counted one.
	var mu sync.Mutex
	left := writes
	dying := w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
		if !dynamotest.IsWrite(op) || op == "BatchExecuteStatement" {
			return call()
		}
		mu.Lock()
		defer mu.Unlock()
		if left--; left < 0 {
			cancel()
			return nil, errors.New("the writer is dead")
		}
		return call()
	})
	if err := do(ctx, dying); err == nil {
		w.T.Fatalf("nothing was cut off after %d writes", writes)
	}
}

// histories are sales by name, each with a part of what is unfinished in the end, "" for nothing.
type histories map[string]struct {
	play       func(*world)
	unfinished string
}

func (all histories) balance(t *testing.T) {
	for name, h := range all {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			h.play(w)
			r := w.balanced()
			if (h.unfinished == "") != (len(r.Unfinished) == 0) || !strings.Contains(strings.Join(r.Unfinished, "\n"), h.unfinished) {
				t.Errorf("unfinished: %q, want %q", r.Unfinished, h.unfinished)
			}
			if s := Of(w.db.Items(tableName)).Sale("moutai"); s.Open {
				w.agrees(r)
			}
		})
	}
}

func TestEveryHonestSaleBalances(t *testing.T) {
	histories{
		"1,000 shards": {func(w *world) { w.Open(1500, 1000); w.confirm(w.buy(0, 40)) }, ""},
		"rescheduled twice, to where no claim lies": {func(w *world) {
			c := w.Open(9, 4)
			w.confirm(w.buy(0, 2))
			w.edit(sale.Edit{OpensAt: c.OpensAt.Add(time.Hour), ClosesAt: c.ClosesAt.Add(time.Hour)})
			w.Pass(time.Hour)
			w.confirm(w.buy(2, 2))
			w.edit(sale.Edit{OpensAt: c.OpensAt.Add(5 * time.Hour), ClosesAt: c.ClosesAt.Add(5 * time.Hour)})
		}, ""},
		"over midnight, with two sequences": {func(w *world) {
			w.Pass(3*time.Hour + 50*time.Minute)
			w.Open(9, 4)
			w.confirm(w.buy(0, 5))
			w.Pass(15 * time.Minute)
			w.confirm(w.buy(5, 3))
		}, ""},
		"a creation that was cut off": {func(w *world) {
			c := w.Sale(9, 4)
			w.cutOff(3, func(ctx context.Context, l *ledger.Ledger) error { _, err := l.Create(ctx, c); return err })
		}, "2 of 4 shards are still to be made"},
		"an addition that was cut off": {func(w *world) {
			w.Open(9, 4)
			w.cutOff(3, func(ctx context.Context, l *ledger.Ledger) error {
				_, err := l.Add(ctx, sale.Addition{SaleID: "moutai", SeedID: "x", Stock: 10})
				return err
			})
		}, `addition "x" has reached 2 of 4 shards`},
		"limited, and an addition that was cut off": {func(w *world) {
			c := w.Sale(9, 4)
			c.MaxStock = 12
			w.Create(c)
			w.cutOff(1, func(ctx context.Context, l *ledger.Ledger) error {
				_, err := l.Add(ctx, sale.Addition{SaleID: "moutai", SeedID: "x", Stock: 3})
				return err
			})
		}, `addition "x" has reached 0 of 3 shards`},
		"a withdrawal that was cut off": {func(w *world) {
			w.Open(9, 4)
			w.cutOff(3, func(ctx context.Context, l *ledger.Ledger) error {
				_, err := l.Withdraw(ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "x", Stock: 8})
				return err
			})
		}, `withdrawal "x" has taken 4 of 8 units`},
		"a pause that was cut off": {func(w *world) {
			w.Open(9, 4)
			w.Pass(time.Second)
			w.cutOff(2, func(ctx context.Context, l *ledger.Ledger) error {
				yes := true
				_, err := l.Edit(ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: &yes})
				return err
			})
		}, "has not reached 3 of 4 shards"},
	}.balance(t)
}

func TestAnEditThatWasCutOffLongAgoIsFound(t *testing.T) {
	w := newWorld(t)
	w.Open(9, 4)
	w.Pass(time.Second)
	w.cutOff(3, func(ctx context.Context, l *ledger.Ledger) error {
		yes := true
		_, err := l.Edit(ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: &yes})
		return err
	})
	w.Pass(6 * time.Minute)
	has(t, w.items().recount(t, w.Now()), "P14", "(not paused, open 2026-11-11T19:59:00.000Z to 2026-11-11T21:00:00.000Z), not as that of 2026-11-11T20:00:01.000Z: repeat the last edit")
}

func TestATableThatWasRestoredInPartBalancesOnceItIsReplayed(t *testing.T) {
	w := newWorld(t)
	w.RestoredInPart(func(about string) {
		if r := w.balanced(); len(r.Unfinished) > 0 {
			t.Errorf("%s: %q", about, r.Unfinished)
		}
	})
}
