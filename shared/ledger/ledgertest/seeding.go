package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// cutOff is a table whose writer dies after a number of writes: nothing after
// them is applied, and the writer's context ends.
type cutOff struct {
	ledger.API
	left atomic.Int64
	die  context.CancelFunc
}

var errDead = errors.New("the writer is dead")

// cutAfter is a writer that dies after that many writes, and its context.
func (w *World) cutAfter(writes int) (context.Context, *ledger.Ledger) {
	ctx, cancel := context.WithCancel(w.Ctx)
	w.T.Cleanup(cancel)
	c := &cutOff{API: w.Engine.API, die: cancel}
	c.left.Store(int64(writes))
	return ctx, w.EnvironmentOver(c)
}

// write makes one write, unless the writer is dead; what is refused does not
// count.
func write[I, O any](c *cutOff, ctx context.Context, call func(context.Context, I, ...func(*dynamodb.Options)) (O, error), in I, o []func(*dynamodb.Options)) (O, error) {
	var none O
	if c.left.Add(-1) < 0 {
		c.die()
		return none, errDead
	}
	out, err := call(ctx, in, o...)
	if err != nil {
		c.left.Add(1)
	}
	return out, err
}

func (c *cutOff) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return write(c, ctx, c.API.PutItem, in, o)
}

func (c *cutOff) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return write(c, ctx, c.API.UpdateItem, in, o)
}

func (c *cutOff) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	out, err := write(c, ctx, c.API.BatchExecuteStatement, in, o)
	applied := func(r types.BatchStatementResponse) bool { return r.Error == nil }
	if err == nil && !slices.ContainsFunc(out.Responses, applied) {
		c.left.Add(1)
	}
	return out, err
}

func (c *cutOff) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return write(c, ctx, c.API.TransactWriteItems, in, o)
}

var creating = map[string]func(*testing.T, *World){
	"creating spreads the stock evenly, the remainder to the first shards": func(t *testing.T, w *World) {
		s := w.Create(w.Sale(103, 10))
		if want := (ledger.Seeding{SaleID: "moutai", Seeded: 103, Shards: 10, Applied: true}); s != want {
			t.Errorf("got %+v, want %+v", s, want)
		}
		left := w.Stock(10)
		if fmt.Sprint(left) != "[11 11 11 10 10 10 10 10 10 10]" {
			t.Errorf("got shards %v", left)
		}
		w.Balanced(10)
	},
	"creating again changes nothing and says so": func(t *testing.T, w *World) {
		c := w.Open(10, 2)
		w.Accepted(w.Buy("alice"))
		s, err := w.Ledger.Create(w.Ctx, c)
		if want := (ledger.Seeding{SaleID: "moutai", Seeded: 10, Shards: 2}); err != nil || s != want {
			t.Errorf("got %+v (%v), want %+v", s, err, want)
		}
		w.Balanced(2)
	},
	"creating with other contents is an error and changes nothing": func(t *testing.T, w *World) {
		c := w.Open(10, 2)
		for _, change := range []func(*sale.Creation){
			func(c *sale.Creation) { c.Stock = 11 },
			func(c *sale.Creation) { c.Shards = 3 },
			func(c *sale.Creation) { c.Name = "another" },
			func(c *sale.Creation) { c.OpensAt = c.OpensAt.Add(time.Second) },
			func(c *sale.Creation) { c.ClosesAt = c.ClosesAt.Add(time.Second) },
		} {
			other := c
			change(&other)
			_, err := w.Ledger.Create(w.Ctx, other)
			w.Refused(sale.Conflicting, err)
		}
		if w.Number("SALE#moutai", "SALE", "seeded") != 10 {
			t.Error("the sale was changed")
		}
	},
	"a creation that was cut off is a draft nobody sees, and is resumed": func(t *testing.T, w *World) {
		c := w.Sale(250, 150)
		for _, writes := range []int{1, 2, 40, 100} {
			ctx, dying := w.cutAfter(writes)
			_, err := dying.Create(ctx, c)
			w.Refused(sale.Busy, err)
			_, err = w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
			w.Refused(sale.SaleNotFound, err)
			_, err = w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "early", Stock: 1})
			w.Refused(sale.SaleNotFound, err)
			_, err = w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(true)})
			w.Refused(sale.SaleNotFound, err)
		}
		if s := w.Create(c); !s.Applied || s.Seeded != 250 || s.Shards != 150 {
			t.Errorf("got %+v", s)
		}
		w.Balanced(150)
		w.Pass(2 * time.Second)
		w.Accepted(w.Buy("alice"))
	},
	"a creation that comes too late to a shard that has sold does not reset its stock": func(t *testing.T, w *World) {
		c := w.Sale(10, 1)
		late := &hook{API: w.Engine.API, put: func() {
			w.Create(c)
			w.Accepted(w.Buy("alice"))
		}}
		if s, err := w.EnvironmentOver(late).Create(w.Ctx, c); err != nil || s.Applied {
			t.Errorf("got %+v (%v), want nothing applied", s, err)
		}
		if left := w.Stock(1); left[0] != 9 {
			t.Errorf("%d units left, want 9", left[0])
		}
		w.Balanced(1)
	},
	"two creations at once make one sale": func(t *testing.T, w *World) {
		c := w.Sale(100, 20)
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if _, err := w.Environment().Create(w.Ctx, c); err != nil {
					t.Errorf("create: %v", err)
				}
			})
		}
		wait.Wait()
		w.Balanced(20)
		if w.Number("SALE#moutai", "SALE", "seeded") != 100 {
			t.Error("seeded is not 100")
		}
	},
}

var adding = map[string]func(*testing.T, *World){
	"units are added once per seed id, and the version rises": func(t *testing.T, w *World) {
		w.Open(10, 4)
		a := sale.Addition{SaleID: "moutai", SeedID: "second-batch", Stock: 6}
		for i, applied := range []bool{true, false, false} {
			s, err := w.Ledger.Add(w.Ctx, a)
			if want := (ledger.Seeding{SaleID: "moutai", Seeded: 16, Shards: 4, Applied: applied}); err != nil || s != want {
				t.Errorf("time %d: got %+v (%v), want %+v", i, s, err, want)
			}
		}
		if left := w.Stock(4); fmt.Sprint(left) != "[5 5 3 3]" {
			t.Errorf("got shards %v", left)
		}
		if v := w.Number("SALE#moutai", "SALE", "version"); v != 5 {
			t.Errorf("version %d, want 5: one more per shard", v)
		}
		w.Balanced(4)
	},
	"a seed id with another number of units is an error": func(t *testing.T, w *World) {
		w.Open(10, 2)
		if _, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 2}); err != nil {
			t.Fatal(err)
		}
		_, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 3})
		w.Refused(sale.Conflicting, err)
		if left := w.Stock(2); left[0]+left[1] != 12 {
			t.Errorf("stock %v, want 12 in all", left)
		}
	},
	"an addition that was cut off is completed by its repeat, over more than 99 shards": func(t *testing.T, w *World) {
		w.Open(120, 120)
		a := sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 240}
		for _, writes := range []int{0, 1, 5, 60} {
			ctx, dying := w.cutAfter(writes)
			_, err := dying.Add(ctx, a)
			w.Refused(sale.Busy, err)
		}
		s, err := w.Ledger.Add(w.Ctx, a)
		if err != nil || !s.Applied || s.Seeded != 360 {
			t.Errorf("got %+v (%v)", s, err)
		}
		for k, left := range w.Stock(120) {
			if left != 3 {
				t.Errorf("shard %d has %d units, want 3", k, left)
			}
		}
	},
	"adding to an unknown sale is an error and writes nothing": func(t *testing.T, w *World) {
		_, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1})
		w.Refused(sale.SaleNotFound, err)
		if items := w.Partition("SALE#moutai"); len(items) != 0 {
			t.Errorf("got items %v", items)
		}
	},
	"a restock takes the shard out of the empty set in the same transaction": func(t *testing.T, w *World) {
		w.Open(2, 2)
		w.Accepted(w.Buy("a"))
		w.Accepted(w.Buy("b"))
		_, err := w.Buy("c")
		w.Refused(sale.SoldOut, err)
		if _, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
			t.Fatal(err)
		}
		s, err := w.Environment().Sale(w.Ctx, "moutai")
		if err != nil || s.Empty.Has(0) || !s.Empty.Has(1) {
			t.Errorf("empty set has 0: %v, 1: %v (%v); want only 1", s.Empty.Has(0), s.Empty.Has(1), err)
		}
	},
}

var editing = map[string]func(*testing.T, *World){
	"pause and resume reach every shard, each once": func(t *testing.T, w *World) {
		w.Open(10, 3)
		for i, step := range []struct {
			paused  bool
			want    sale.Code
			applied bool
		}{{true, sale.Paused, true}, {false, "", true}} {
			w.Pass(2 * time.Second)
			e := sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(step.paused)}
			if s := w.edit(e); s.Applied != step.applied {
				t.Errorf("applied %v", s.Applied)
			}
			if s := w.edit(e); s.Applied {
				t.Error("the same edit was applied twice")
			}
			_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: fmt.Sprint("user-", i)})
			if got := sale.CodeOf(err); got != step.want {
				t.Errorf("paused %v: got %v", step.paused, err)
			}
		}
	},
	"an edit without an instant is of now, and applies over one that lies ahead": func(t *testing.T, w *World) {
		w.Open(10, 3)
		ahead := w.Now().Add(sale.MaxAhead)
		w.edit(sale.Edit{SaleID: "moutai", At: ahead, Paused: ptr(false)})
		for i, want := range []time.Time{ahead.Add(time.Millisecond), ahead.Add(2 * time.Millisecond)} {
			got := w.edit(sale.Edit{SaleID: "moutai", Paused: ptr(true)})
			if !got.Applied || !got.Sale.Paused || !got.Sale.ChangedAt.Equal(want) {
				t.Errorf("pause %d: got %+v, want it applied at %v", i, got, want)
			}
		}
		for i := range 10 {
			_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: fmt.Sprint("user-", i)})
			w.Refused(sale.Paused, err)
		}
		w.changed(3, true, ahead.Add(2*time.Millisecond))
		w.Pass(time.Hour / 2)
		if got := w.edit(sale.Edit{SaleID: "moutai", Paused: ptr(false)}); !got.Applied || !got.Sale.ChangedAt.Equal(w.Now()) {
			t.Errorf("resume: got %+v, want it applied at %v", got, w.Now())
		}
		w.changed(3, false, w.Now())
		w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"}))
	},
	"the first edit without an instant applies even if it changes nothing": func(t *testing.T, w *World) {
		w.Open(10, 2)
		if got := w.edit(sale.Edit{SaleID: "moutai", Paused: ptr(false)}); !got.Applied || !got.Sale.ChangedAt.Equal(w.Now()) {
			t.Errorf("got %+v, want it applied at %v", got, w.Now())
		}
		w.changed(2, false, w.Now())
	},
	"an older edit that disagrees is an error that names the edit that stands": func(t *testing.T, w *World) {
		w.Open(10, 2)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(true)})
		for _, older := range []time.Duration{0, time.Millisecond, time.Hour} { // 0: another edit of the same instant
			for says, e := range map[string]sale.Edit{
				"the sale is paused": {Paused: ptr(false)},
				"the sale is open from 2026-11-11T19:59:00.000Z to 2026-11-11T21:00:00.000Z": {OpensAt: w.Now(), ClosesAt: w.Now().Add(2 * time.Hour)},
			} {
				e.SaleID, e.At = "moutai", w.Now().Add(-older)
				_, err := w.Ledger.Edit(w.Ctx, e)
				if got, want := w.Refused(sale.Conflicting, err).Detail, "an edit of 2026-11-11T20:00:00.000Z stands: "+says; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		}
		w.changed(2, true, w.Now())
		w.Pass(time.Second)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(false)})
		_, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: w.Now().Add(-time.Second), Paused: ptr(true)})
		if got, want := w.Refused(sale.Conflicting, err).Detail, "an edit of 2026-11-11T20:00:01.000Z stands: the sale is not paused"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		w.changed(2, false, w.Now())
	},
	"an older edit that agrees changes nothing, and completes the one that stands": func(t *testing.T, w *World) {
		w.Open(40, 40)
		ctx, dying := w.cutAfter(10)
		_, err := dying.Edit(ctx, sale.Edit{SaleID: "moutai", Paused: ptr(true)})
		w.Refused(sale.Busy, err)
		got := w.edit(sale.Edit{SaleID: "moutai", At: w.Now().Add(-time.Second), Paused: ptr(true)})
		if got.Applied || !got.Sale.Paused || !got.Sale.ChangedAt.Equal(w.Now()) {
			t.Errorf("got %+v, want a sale paused at %v before", got, w.Now())
		}
		w.changed(40, true, w.Now())
	},
	"a scheduled pause that is delivered again after a resumption does not pause again": func(t *testing.T, w *World) {
		w.Open(10, 2)
		pause := sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(true)}
		for i, applied := range []bool{true, false} {
			if got := w.edit(pause); got.Applied != applied || !got.Sale.Paused {
				t.Errorf("delivery %d: got %+v", i, got)
			}
		}
		// The resumption comes within the same millisecond.
		resumed := w.edit(sale.Edit{SaleID: "moutai", Paused: ptr(false)}).Sale.ChangedAt
		_, err := w.Ledger.Edit(w.Ctx, pause)
		w.Refused(sale.Conflicting, err)
		w.changed(2, false, resumed)
	},
	"an edit that loses the race to a newer one applies after it": func(t *testing.T, w *World) {
		ahead := w.Now().Add(time.Second)
		w.race(sale.Edit{SaleID: "moutai", At: ahead, Paused: ptr(false)}, ahead.Add(time.Millisecond))
	},
	"an edit that loses the race to another of its instant applies after it": func(t *testing.T, w *World) {
		w.race(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(false)}, w.Now().Add(time.Millisecond))
	},
	"an edit that loses the race to an older one that agrees is still of now": func(t *testing.T, w *World) {
		w.race(sale.Edit{SaleID: "moutai", At: w.Now().Add(-time.Hour), Paused: ptr(true)}, w.Now())
	},
	"an edit that another overtakes before it is answered is an error": func(t *testing.T, w *World) {
		w.Open(10, 2)
		var h *hook
		h = &hook{API: w.Engine.API, transaction: func() {
			// The next read is the one before the answer.
			h.read = func() { w.edit(sale.Edit{SaleID: "moutai", Paused: ptr(false)}) }
		}}
		_, err := w.EnvironmentOver(h).Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: ptr(true)})
		w.Refused(sale.Conflicting, err)
		w.changed(2, false, w.Now().Add(time.Millisecond))
	},
	"an edit that is overtaken before its shards leaves the newer one in them": func(t *testing.T, w *World) {
		w.Open(10, 3)
		newer := w.Now().Add(time.Millisecond)
		h := &hook{API: w.Engine.API, update: func() { w.edit(sale.Edit{SaleID: "moutai", Paused: ptr(false)}) }}
		_, err := w.EnvironmentOver(h).Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: ptr(true)})
		w.Refused(sale.Conflicting, err)
		w.changed(3, false, newer)
	},
	"edits at once apply one after the other, and the last one is in every shard": func(t *testing.T, w *World) {
		w.Open(10, 5)
		opens, closes := w.Now().Add(-time.Hour), w.Now().Add(2*time.Hour)
		var wait sync.WaitGroup
		for i := range 8 {
			e := sale.Edit{SaleID: "moutai", Paused: ptr(i%2 == 0)}
			if i == 7 {
				e = sale.Edit{SaleID: "moutai", OpensAt: opens, ClosesAt: closes}
			}
			wait.Go(func() {
				// Overtaken by another one, it is an error that says so.
				if _, err := w.Environment().Edit(w.Ctx, e); err != nil && sale.CodeOf(err) != sale.Conflicting {
					t.Errorf("edit: %v", err)
				}
			})
		}
		wait.Wait()
		if v := w.Number("SALE#moutai", "SALE", "version"); v != 9 {
			t.Errorf("version %d, want 9: each of 8 edits once", v)
		}
		paused := value(w.Item("SALE#moutai", "SALE")["paused"]) == "true"
		w.changed(5, paused, w.Now().Add(7*time.Millisecond))
		if w.Number("STOCK#moutai#4", "STOCK", "closesAt") != closes.UnixMilli() {
			t.Error("the rescheduling is lost")
		}
	},
	"rescheduling moves the window of the sale, its shards and its listing": func(t *testing.T, w *World) {
		w.Open(10, 3)
		opens, closes := w.Now().Add(time.Hour), w.Now().Add(2*time.Hour)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), OpensAt: opens, ClosesAt: closes})
		_, err := w.Buy("alice")
		w.Refused(sale.NotOpen, err)
		for k := range 3 {
			pk := fmt.Sprintf("STOCK#moutai#%d", k)
			if w.Number(pk, "STOCK", "opensAt") != opens.UnixMilli() || w.Number(pk, "STOCK", "closesAt") != closes.UnixMilli() {
				t.Errorf("shard %d kept its window", k)
			}
		}
		if w.Number("SALES", "moutai", "closesAt") != closes.UnixMilli() {
			t.Error("the listing kept its end")
		}
		w.Pass(90 * time.Minute)
		w.Accepted(w.Buy("alice"))
	},
	"an edit that was cut off and overtaken by another leaves no shard behind": func(t *testing.T, w *World) {
		w.Open(40, 40)
		ctx, dying := w.cutAfter(10)
		_, err := dying.Edit(ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(true)})
		w.Refused(sale.Busy, err)
		w.Pass(time.Second)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), OpensAt: w.Now().Add(-time.Hour), ClosesAt: w.Now().Add(time.Hour)})
		for i := range 60 {
			_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: fmt.Sprint("user-", i)})
			w.Refused(sale.Paused, err)
		}
		if left := w.Stock(40); fmt.Sprint(left) != fmt.Sprint(ones(40)) {
			t.Errorf("a paused sale sold: %v", left)
		}
		for k := range 40 {
			if paused := value(w.Item(fmt.Sprintf("STOCK#moutai#%d", k), "STOCK")["paused"]); paused != "true" {
				t.Errorf("shard %d: paused is %s", k, paused)
			}
		}
	},
}

// changed checks that the sale and every shard have the newest edit.
func (w *World) changed(shards int, paused bool, at time.Time) {
	w.T.Helper()
	check := func(pk, sk string) {
		w.T.Helper()
		it := w.Item(pk, sk)
		if got, when := value(it["paused"]), w.Number(pk, sk, "changedAt"); got != fmt.Sprint(paused) || when != at.UnixMilli() {
			w.T.Errorf("%s: paused is %s since %v, want %t since %v", pk, got, time.UnixMilli(when).UTC(), paused, at)
		}
	}
	check("SALE#moutai", "SALE")
	for k := range shards {
		check(fmt.Sprintf("STOCK#moutai#%d", k), "STOCK")
	}
}

// race lets another edit win against a pause without an instant, which must
// then apply at want.
func (w *World) race(winner sale.Edit, want time.Time) {
	w.T.Helper()
	w.Open(10, 3)
	h := &hook{API: w.Engine.API, transaction: func() { w.edit(winner) }}
	got, err := w.EnvironmentOver(h).Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: ptr(true)})
	if err != nil || !got.Applied || !got.Sale.ChangedAt.Equal(want) {
		w.T.Errorf("got %+v (%v), want it applied at %v", got, err, want)
	}
	w.changed(3, true, want)
}

// hook runs something else right before the next call of a kind, once. Other
// calls of that kind wait for it.
type hook struct {
	ledger.API
	mu                             sync.Mutex
	transaction, put, update, read func()
}

func (h *hook) before(due *func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if run := *due; run != nil {
		*due = nil
		run()
	}
}

func (h *hook) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	h.before(&h.transaction)
	return h.API.TransactWriteItems(ctx, in, o...)
}

func (h *hook) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	h.before(&h.put)
	return h.API.PutItem(ctx, in, o...)
}

func (h *hook) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	h.before(&h.update)
	return h.API.UpdateItem(ctx, in, o...)
}

func (h *hook) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	h.before(&h.read)
	return h.API.GetItem(ctx, in, o...)
}

func ones(n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = 1
	}
	return list
}
