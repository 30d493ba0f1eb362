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

// dying is a writer that dies after that many writes, and its context.
func (w *world) dying(writes int) (context.Context, *ledger.Ledger) {
	ctx, cancel := context.WithCancel(w.Ctx)
	w.T.Cleanup(cancel)
	// Writes are counted and applied one at a time: otherwise the death caused by the next
	// write could cancel a counted one.
	var mu sync.Mutex
	left := writes
	return ctx, w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
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
}

// dies expects that a step of a dying writer was cut off.
func (w *world) dies(_ any, err error) {
	w.T.Helper()
	if err == nil {
		w.T.Fatal("nothing was cut off")
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
		})
	}
}

func TestEveryHonestSaleBalances(t *testing.T) {
	histories{
		"1,000 shards": {func(w *world) { w.Open(1500, 1000); w.Confirmed(w.buy(0, 40)) }, ""},
		"over midnight, with two sequences": {func(w *world) {
			w.Pass(3*time.Hour + 50*time.Minute)
			w.Open(9, 4)
			w.Confirmed(w.buy(0, 5))
			w.Pass(15 * time.Minute)
			w.Confirmed(w.buy(5, 3))
		}, ""},
		"a creation that was cut off": {func(w *world) {
			ctx, l := w.dying(3)
			w.dies(l.Create(ctx, w.Sale(9, 4)))
		}, "2 of 4 shards are still to be made"},
		"an addition that was cut off": {func(w *world) {
			w.Open(9, 4)
			ctx, l := w.dying(3)
			w.dies(l.Add(ctx, sale.Addition{SaleID: "moutai", SeedID: "x", Stock: 10}))
		}, `addition "x" has reached 2 of 4 shards`},
		"limited, and an addition that was cut off": {func(w *world) {
			c := w.Sale(9, 4)
			c.MaxStock = 12
			w.Create(c)
			ctx, l := w.dying(1)
			w.dies(l.Add(ctx, sale.Addition{SaleID: "moutai", SeedID: "x", Stock: 3}))
		}, `addition "x" has reached 0 of 3 shards`},
		"a withdrawal that was cut off": {func(w *world) {
			w.Open(9, 4)
			ctx, l := w.dying(3)
			w.dies(l.Withdraw(ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "x", Stock: 8}))
		}, `withdrawal "x" has taken 4 of 8 units`},
		"a pause that was cut off": {func(w *world) { w.pauseIsCutOff(2) }, "has not reached 3 of 4 shards"},
	}.balance(t)
}

// pauseIsCutOff is a sale whose pause was cut off after that many writes.
func (w *world) pauseIsCutOff(writes int) {
	w.T.Helper()
	w.Open(9, 4)
	w.Pass(time.Second)
	ctx, l := w.dying(writes)
	paused := true
	w.dies(l.Edit(ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: &paused}))
}

func TestAnEditThatWasCutOffLongAgoIsFound(t *testing.T) {
	w := newWorld(t)
	w.pauseIsCutOff(3)
	w.Pass(6 * time.Minute)
	has(t, w.items().recount(t, w.Now()), "P14", "(not paused, open 2026-11-11T19:59:00.000Z to 2026-11-11T21:00:00.000Z), but the sale as of 2026-11-11T20:00:01.000Z (paused, open 2026-11-11T19:59:00.000Z to 2026-11-11T21:00:00.000Z): repeat the last edit")
}
