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

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var errDead = errors.New("the writer is dead")

func applied(r types.BatchStatementResponse) bool { return r.Error == nil }

// cutAfter is a writer that dies after that many writes, and its context: nothing after
// them is applied. What is refused does not count.
func (w *World) cutAfter(writes int) (context.Context, *ledger.Ledger) {
	ctx, cancel := context.WithCancel(w.Ctx)
	w.T.Cleanup(cancel)
	var left atomic.Int64
	left.Store(int64(writes))
	return ctx, w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
		if !dynamotest.IsWrite(op) {
			return call()
		}
		if left.Add(-1) < 0 {
			cancel()
			return nil, errDead
		}
		out, err := call()
		statements, isBatch := out.(*dynamodb.BatchExecuteStatementOutput)
		if err != nil || isBatch && !slices.ContainsFunc(statements.Responses, applied) {
			left.Add(1)
		}
		return out, err
	})
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
		created := func(want bool) {
			if got, err := w.Environment().Created(w.Ctx, "moutai"); got != want || err != nil {
				t.Errorf("created: %t (%v), want %t", got, err, want)
			}
		}
		created(false)
		for _, writes := range []int{1, 2, 40, 100} {
			ctx, dying := w.cutAfter(writes)
			_, err := dying.Create(ctx, c)
			w.Refused(sale.Busy, err)
			created(true)
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
		late := w.overtaken("PutItem", func() {
			w.Create(c)
			w.Accepted(w.Buy("alice"))
		})
		if s, err := late.Create(w.Ctx, c); err != nil || s.Applied {
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
		w.Add("s", 2)
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
}
