package ledgertest

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// Hooked is an environment with a hook around its calls of the table.
func (w *World) Hooked(hook dynamotest.Hook) *ledger.Ledger {
	return w.EnvironmentOver(dynamotest.WithHook(w.Engine.API, hook))
}

// overtaken is an environment that something else overtakes once, between its reads and its
// first write: before its first call of that operation; with a read, after it. Other calls
// of it wait.
func (w *World) overtaken(operation string, meanwhile func()) *ledger.Ledger {
	once := sync.OnceFunc(meanwhile)
	if dynamotest.IsWrite(operation) {
		return w.Hooked(dynamotest.Before(operation, once))
	}
	return w.Hooked(dynamotest.After(operation, once))
}

// before is an environment in which something else happens before each call of an operation,
// one after the other.
func (w *World) before(operation string, act func()) *ledger.Ledger {
	var mu sync.Mutex
	return w.Hooked(dynamotest.Before(operation, func() {
		mu.Lock()
		defer mu.Unlock()
		act()
	}))
}

// place writes an item behind the ledger's back.
func (w *World) place(it map[string]types.AttributeValue) {
	w.T.Helper()
	if _, err := look(w.Ctx, w.Engine.API.PutItem, &dynamodb.PutItemInput{TableName: &w.Engine.Table, Item: it}); err != nil {
		w.T.Fatal(err)
	}
}

// moved is an item under another key.
func moved(it map[string]types.AttributeValue, pk, sk string) map[string]types.AttributeValue {
	out := maps.Clone(it)
	out["pk"], out["sk"] = &types.AttributeValueMemberS{Value: pk}, &types.AttributeValueMemberS{Value: sk}
	return out
}

func text(s string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{":x": &types.AttributeValueMemberS{Value: s}}
}

var overtaking = map[string]func(*testing.T, *World){
	"a creation that is overtaken by its own repeat neither resets a shard nor opens the sale again": func(t *testing.T, w *World) {
		c := w.Sale(5, 1)
		slow := w.overtaken("PutItem", func() {
			w.Create(c)
			w.Accepted(w.Buy("alice"))
		})
		s, err := slow.Create(w.Ctx, c)
		if err != nil || s.Applied {
			t.Errorf("got %+v (%v), want it not applied", s, err)
		}
		w.Balanced(1)
	},
	"an addition that is overtaken by its own repeat is applied once": func(t *testing.T, w *World) {
		w.Open(2, 2)
		a := sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 2}
		queries := 0
		slow := w.Hooked(dynamotest.After("Query", func() {
			if queries++; queries != 2 { // of the trail, and then of the receipts
				return
			}
			if s, err := w.Ledger.Add(w.Ctx, a); err != nil || !s.Applied {
				t.Fatalf("got %+v (%v)", s, err)
			}
		}))
		s, err := slow.Add(w.Ctx, a)
		if err != nil || s.Applied || s.Seeded != 4 {
			t.Errorf("got %+v (%v), want 4 units, not applied by this one", s, err)
		}
		w.Balanced(2)
	},
	"an edit that is overtaken by a newer one does not undo it in the shards": func(t *testing.T, w *World) {
		w.Open(3, 3)
		at := w.Now()
		slow := w.overtaken("UpdateItem", func() {
			w.edit(sale.Edit{SaleID: "moutai", At: at.Add(time.Second), Paused: ptr(true)})
		})
		w.Pass(time.Second)
		if _, err := slow.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: at, Paused: ptr(false)}); sale.CodeOf(err) != sale.Conflicting {
			t.Errorf("got %v, want to be told that the newer edit stands", err)
		}
		for k, pk := range []string{"STOCK#moutai#0", "STOCK#moutai#1", "STOCK#moutai#2"} {
			if paused := value(w.Item(pk, "STOCK")["paused"]); paused != "true" {
				t.Errorf("shard %d: paused is %s", k, paused)
			}
		}
	},
	"a shard that was restocked since it was found empty is not closed": func(t *testing.T, w *World) {
		w.Open(1, 1)
		w.Accepted(w.Buy("first"))
		slow := w.overtaken("UpdateItem", func() {
			if _, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
				t.Fatal(err)
			}
		})
		w.Accepted(slow.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "second"}))
		s, err := w.Environment().Sale(w.Ctx, "moutai")
		if err != nil || s.Empty.Len() != 0 {
			t.Errorf("%d shards are said to be empty (%v), want none: nobody found it empty since", s.Empty.Len(), err)
		}
	},
	"a claim that becomes another between its reading and its order id gets none": func(t *testing.T, w *World) {
		w.Open(2, 1)
		refs := w.bought("alice")
		slow := w.overtaken("BatchExecuteStatement", func() {
			w.tamper("CLAIM#moutai#0", "alice", "SET claimId = :x", text("another"))
		})
		if c := slow.Confirm(w.Ctx, refs); sale.CodeOf(c[0].Err) != sale.Poison {
			t.Errorf("got %+v, want poison", c[0])
		}
		if it := w.Item("CLAIM#moutai#0", "alice"); it["orderId"] != nil {
			t.Errorf("got an order id: %v", it)
		}
	},
	"a claim that another finalizer confirms between its reading and its order id keeps the other's id": func(t *testing.T, w *World) {
		w.Open(2, 1)
		refs := w.bought("alice")
		var first []uint64
		slow := w.overtaken("BatchExecuteStatement", func() { first = w.confirmed(refs) })
		if c := slow.Confirm(w.Ctx, refs)[0]; c.Err != nil || c.New || c.Order.ID != first[0] {
			t.Errorf("got %+v, want order %d, not new", c, first[0])
		}
		if c, err := w.Ledger.Claim(w.Ctx, "moutai", "alice"); err != nil || c.OrderID != first[0] {
			t.Errorf("got claim %+v (%v), want order %d", c, err, first[0])
		}
	},
	"the window of the shards holds for an environment with an old snapshot, to the millisecond": func(t *testing.T, w *World) {
		c := w.Open(10, 1)
		w.Accepted(w.Buy("alice")) // the snapshot stays fresh: no time passes
		for i, window := range []struct {
			opens, closes time.Time
			want          sale.Code
		}{
			{w.Now().Add(time.Millisecond), c.ClosesAt, sale.NotOpen},
			{w.Now(), c.ClosesAt, ""},
			{c.OpensAt, w.Now().Add(time.Millisecond), ""},
			{c.OpensAt, w.Now(), sale.Closed},
		} {
			e := sale.Edit{SaleID: "moutai", At: w.Now().Add(time.Duration(i) * time.Millisecond), OpensAt: window.opens, ClosesAt: window.closes}
			if _, err := w.Environment().Edit(w.Ctx, e); err != nil {
				t.Fatal(err)
			}
			_, err := w.Buy(people(4)[i])
			if got := sale.CodeOf(err); got != window.want {
				t.Errorf("window %v to %v at %v: got %v, want %q", window.opens, window.closes, w.Now(), err, window.want)
			}
		}
	},
	"every edit and every restocked shard raises the sale's version by one": func(t *testing.T, w *World) {
		w.Open(4, 4)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(true)})
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now().Add(1e6), OpensAt: w.Now(), ClosesAt: w.Now().Add(time.Hour)})
		w.Add("s", 2)
		if v := w.Number("SALE#moutai", "SALE", "version"); v != 5 {
			t.Errorf("version %d, want 5", v)
		}
	},
	"a sale that comes back after it was drained begins a new pass": func(t *testing.T, w *World) {
		c := w.Open(2, 1)
		if err := w.Ledger.SaveCursor(w.Ctx, &ledger.Audit{SaleID: "moutai", Sold: []int64{0}, Claims: []int64{0}}, nil); err != nil {
			t.Fatal(err)
		}
		if drained, err := w.Ledger.Drain(w.Ctx, &ledger.Receipt{SaleID: "moutai", Version: 1, ClosesAt: c.ClosesAt}); err != nil || !drained {
			t.Fatalf("drained %t, %v", drained, err)
		}
		w.Add("s", 1)
		if l, err := w.Ledger.Listings(w.Ctx); err != nil || len(l) != 1 || l[0].Cursor != nil {
			t.Errorf("got %+v (%v), want one without a cursor", l, err)
		}
	},
	"the cursor of an unknown sale is not kept": func(t *testing.T, w *World) {
		if err := w.Ledger.SaveCursor(w.Ctx, &ledger.Audit{SaleID: "unknown"}, nil); sale.CodeOf(err) != sale.Internal {
			t.Errorf("got %v, want an error: a listing is never removed", err)
		}
		if all := w.Partition("SALES"); len(all) != 0 {
			t.Errorf("got listings %v", all)
		}
	},
	"a claim whose order item is missing may be resent by one of many, and not for another claim": func(t *testing.T, w *World) {
		w.Open(2, 1)
		w.confirmed(w.bought("alice"))
		c := w.claimOf("alice")
		w.Pass(time.Minute)
		other := c
		other.ID = "another"
		for i, step := range []struct {
			claim sale.Claim
			want  bool
		}{{other, false}, {c, true}, {c, false}} {
			if mark, err := w.Ledger.MarkResent(w.Ctx, step.claim, false); err != nil || !mark.IsZero() != step.want {
				t.Errorf("step %d: got %v (%v), want %v", i, mark, err, step.want)
			}
		}
		// Two minutes old, marked one minute ago: half its age is not more than that.
		w.Pass(time.Minute)
		if mark, err := w.Ledger.MarkResent(w.Ctx, c, false); err != nil || !mark.IsZero() {
			t.Errorf("got %v (%v) at exactly half its age, want none", mark, err)
		}
	},
	"a sale that is stored in part is not created over, and is left as it is": func(t *testing.T, w *World) {
		c := w.Open(4, 2)
		whole := w.table()
		parts := [][2]string{{"SALE#moutai", "CREATE"}, {"SALE#moutai", "SALE"}, {"SALES", "moutai"}}
		for gone := range 1<<len(parts) - 1 {
			w.becomes(whole)
			for i, part := range parts {
				if gone&(1<<i) != 0 {
					w.remove(w.Item(part[0], part[1]))
				}
			}
			before := w.everything()
			_, err := w.Environment().Create(w.Ctx, c)
			if gone == 0 && err != nil {
				t.Errorf("the whole sale: %v", err)
			}
			if gone != 0 {
				w.Refused(sale.Internal, err)
				w.isCancelled(err) // the transaction tells it, not a later reading of what is missing
			}
			if w.everything() != before {
				t.Errorf("without the parts %03b: the table was changed", gone)
			}
		}
	},
	"a sale that is not listed gets no units, gives none back and is not rescheduled": func(t *testing.T, w *World) {
		w.Open(2, 1)
		w.place(moved(w.Item("SALE#moutai", "SALE"), "SALE#unlisted", "SALE"))
		w.place(moved(w.Item("STOCK#moutai#0", "STOCK"), "STOCK#unlisted#0", "STOCK"))
		_, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "unlisted", SeedID: "s", Stock: 1})
		w.Refused(sale.Internal, err)
		_, err = w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "unlisted", SeedID: "typo", Stock: 1})
		w.Refused(sale.Internal, err)
		_, err = w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "unlisted", At: w.Now(), OpensAt: w.Now(), ClosesAt: w.Now().Add(time.Hour)})
		w.Refused(sale.Internal, err)
		if it := w.Item("SALES", "unlisted"); it != nil {
			t.Errorf("it was listed: %v", it)
		}
		if stock := w.Number("STOCK#unlisted#0", "STOCK", "stock"); stock != 2 {
			t.Errorf("%d units, want 2", stock)
		}
	},
}
