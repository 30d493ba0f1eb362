package ledgertest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var purchasing = map[string]func(*testing.T, *World){
	"a purchase takes one unit and leaves a claim": func(t *testing.T, w *World) {
		w.Open(10, 1)
		p := w.Accepted(w.BuyWith("alice", "k1"))
		if !p.New || p.Tries != 1 {
			t.Errorf("got %+v, want a new claim at the first try", p)
		}
		want := sale.Claim{
			SaleID: "moutai", User: "alice", ID: p.Claim.ID, Shard: 0, AcceptedAt: Start, RequestKey: "k1", Buckets: 1,
		}
		if !reflect.DeepEqual(p.Claim, want) {
			t.Errorf("got claim %+v, want %+v", p.Claim, want)
		}
		stored, err := w.Ledger.Claim(w.Ctx, "moutai", "alice")
		if err != nil || !reflect.DeepEqual(stored, want) {
			t.Errorf("stored claim %+v (%v), want %+v", stored, err, want)
		}
		if left := w.Stock(1); left[0] != 9 {
			t.Errorf("%d units left, want 9", left[0])
		}
	},
	"a second order by the same user is refused and shows the first": func(t *testing.T, w *World) {
		w.Open(10, 3)
		first := w.Accepted(w.Buy("alice"))
		for name, l := range map[string]*ledger.Ledger{"the same environment": w.Ledger, "another one": w.Environment()} {
			_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "new"})
			refused := w.Refused(sale.AlreadyOrdered, err)
			if refused.Claim == nil || refused.Claim.ID != first.Claim.ID {
				t.Errorf("%s shows %+v, want the claim %s", name, refused.Claim, first.Claim.ID)
			}
		}
		w.Balanced(3)
	},
	"the same Idempotency-Key gets the same claim, in any environment": func(t *testing.T, w *World) {
		w.Open(10, 3)
		first := w.Accepted(w.BuyWith("alice", "k1"))
		for _, l := range []*ledger.Ledger{w.Ledger, w.Environment()} {
			p := w.Accepted(l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "k1"}))
			if p.New || !reflect.DeepEqual(p.Claim, first.Claim) {
				t.Errorf("got %+v, want the first claim %+v", p, first.Claim)
			}
		}
		w.Balanced(3)
	},
	"one user's Idempotency-Key means nothing for another": func(t *testing.T, w *World) {
		w.Open(10, 1)
		alice := w.Accepted(w.BuyWith("alice", "k1"))
		bob := w.Accepted(w.BuyWith("bob", "k1"))
		if !bob.New || bob.Claim.ID == alice.Claim.ID {
			t.Errorf("bob got %+v", bob)
		}
	},
	"a claim beats every refusal for a request with its key": func(t *testing.T, w *World) {
		w.Open(1, 1)
		first := w.Accepted(w.BuyWith("alice", "k1"))
		_, err := w.Buy("bob")
		w.Refused(sale.SoldOut, err)
		again := func(when string) {
			t.Helper()
			p, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "k1"})
			if err != nil || !reflect.DeepEqual(p.Claim, first.Claim) {
				t.Errorf("%s: got %+v (%v), want the first claim", when, p, err)
			}
			_, err = w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "k2"})
			if sale.CodeOf(err) != sale.AlreadyOrdered {
				t.Errorf("%s: another key got %v, want already ordered", when, err)
			}
		}
		again("sold out")
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(true)})
		again("paused")
		w.Pass(2 * time.Hour)
		again("closed")
	},
	"the last unit is sold, then the sale is sold out": func(t *testing.T, w *World) {
		w.Open(25, 5)
		for i := range 25 {
			w.Accepted(w.Buy(fmt.Sprintf("user-%d", i)))
		}
		_, err := w.Buy("late")
		w.Refused(sale.SoldOut, err)
		s, err := w.Environment().Sale(w.Ctx, "moutai")
		if err != nil || s.Empty.Len() != 5 || !s.SoldOut() {
			t.Errorf("the sale knows %d empty shards (%v), want 5", s.Empty.Len(), err)
		}
		w.Balanced(5)
	},
	"64 buyers at once, each clicking twice, get every unit and one each": func(t *testing.T, w *World) {
		w.Open(40, 4)
		environments := make([]*ledger.Ledger, 4)
		for i := range environments {
			environments[i] = w.Environment()
		}
		var mu sync.Mutex
		count := map[sale.Code]int{}
		var wait sync.WaitGroup
		for i := range 128 {
			wait.Go(func() {
				click := ledger.Request{SaleID: "moutai", User: fmt.Sprintf("user-%d", i/2), Key: fmt.Sprintf("click-%d", i)}
				var code sale.Code
				for range 20 { // a slow engine answers late; who is told busy repeats the same request (P5)
					_, err := environments[i%4].Purchase(w.Ctx, click)
					if code = sale.CodeOf(err); code != sale.Busy {
						break
					}
				}
				mu.Lock()
				defer mu.Unlock()
				count[code]++
			})
		}
		wait.Wait()
		if count[""] != 40 || count[""]+count[sale.SoldOut]+count[sale.AlreadyOrdered] != 128 {
			t.Errorf("got %v, want 40 accepted and the rest sold out or already ordered", count)
		}
		w.Balanced(4)
	},
	"a sale that has not opened, is closed, paused or unknown sells nothing": func(t *testing.T, w *World) {
		_, err := w.Buy("alice")
		w.Refused(sale.SaleNotFound, err)
		w.Pass(2 * time.Second) // the environment remembers what it did not find
		c := w.Sale(10, 2)
		c.OpensAt = w.Now().Add(time.Minute)
		w.Create(c)
		_, err = w.Buy("alice")
		if refused := w.Refused(sale.NotOpen, err); refused.RetryAfter != time.Minute {
			t.Errorf("retry after %v, want a minute", refused.RetryAfter)
		}
		w.Pass(time.Minute)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(true)})
		_, err = w.Buy("alice")
		w.Refused(sale.Paused, err)
		w.Pass(2 * time.Hour)
		_, err = w.Buy("alice")
		w.Refused(sale.Closed, err)
		if left := w.Stock(2); left[0]+left[1] != 10 {
			t.Errorf("stock %v, want 10 in all", left)
		}
	},
	"the window is the shard's: an environment with an old snapshot sells nothing past it": func(t *testing.T, w *World) {
		w.Open(10, 1)
		w.Accepted(w.Buy("alice")) // the snapshot is fresh now
		other := w.Environment()
		pause := sale.Edit{SaleID: "moutai", At: w.Now(), Paused: ptr(true)}
		if _, err := other.Edit(w.Ctx, pause); err != nil {
			t.Fatal(err)
		}
		_, err := w.Buy("bob")
		w.Refused(sale.Paused, err)
		w.Balanced(1)
	},
	"opening is inclusive and closing exclusive, to the millisecond": func(t *testing.T, w *World) {
		c := w.Sale(10, 1)
		c.OpensAt, c.ClosesAt = w.Now().Add(5*time.Millisecond), w.Now().Add(10*time.Millisecond)
		w.Create(c)
		for _, step := range []struct {
			user string
			want sale.Code
		}{{"a", sale.NotOpen}, {"b", ""}, {"c", ""}, {"d", sale.Closed}} {
			_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: step.user})
			if got := sale.CodeOf(err); got != step.want {
				t.Errorf("%s at +%v: got %q (%v), want %q", step.user, w.Now().Sub(Start), got, err, step.want)
			}
			switch step.user {
			case "a":
				w.Pass(5 * time.Millisecond)
			case "b":
				w.Pass(4 * time.Millisecond)
			case "c":
				w.Pass(time.Millisecond)
			}
		}
	},
	"a restock reopens a sold-out sale for environments that saw it sold out": func(t *testing.T, w *World) {
		w.Open(2, 2)
		w.Accepted(w.Buy("a"))
		w.Accepted(w.Buy("b"))
		_, err := w.Buy("c")
		w.Refused(sale.SoldOut, err)
		if _, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "second", Stock: 1}); err != nil {
			t.Fatal(err)
		}
		if s, err := w.Environment().Sale(w.Ctx, "moutai"); err != nil || s.Empty.Has(0) || !s.Empty.Has(1) {
			t.Errorf("empty are 0: %t, 1: %t (%v), want only 1", s.Empty.Has(0), s.Empty.Has(1), err)
		}
		w.Pass(2 * time.Second)
		w.Accepted(w.Buy("c"))
		_, err = w.Buy("d")
		w.Refused(sale.SoldOut, err)
		w.Balanced(2)
	},
	"a user whose claim was released has had the one order": func(t *testing.T, w *World) {
		w.OpenUnpaid(2, 1)
		w.Accepted(w.BuyWith("alice", "key-1"))
		w.confirmed([]ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: w.claimOf("alice").ID}})
		w.Cancels("alice")
		w.releases(0, 1)
		for _, key := range []string{"", "key-1", "key-2"} {
			_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: key})
			if e := w.Refused(sale.AlreadyOrdered, err); e.Claim.State() != sale.Cancelled {
				t.Errorf("key %q: told of a claim that is %s", key, e.Claim.State())
			}
		}
	},
	"an environment that remembers a claim tells of its release": func(t *testing.T, w *World) {
		w.OpenUnpaid(2, 1)
		first := w.Accepted(w.BuyWith("alice", "key-1"))
		w.confirmed([]ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: first.Claim.ID}})
		if p := w.Accepted(w.BuyWith("alice", "key-1")); p.New || p.Claim.State() != sale.Confirmed {
			t.Errorf("the repeat before the release got %+v", p)
		}
		asker := w.Environment() // it has not sold the unit, and finds the claim
		repeat := ledger.Request{SaleID: "moutai", User: "alice", Key: "key-1"}
		w.Accepted(asker.Purchase(w.Ctx, repeat))
		if _, err := w.Environment().Cancel(w.Ctx, "moutai", "alice"); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"key-1", "", "key-2"} {
			_, err := w.BuyWith("alice", key)
			if e := w.Refused(sale.AlreadyOrdered, err); e.Claim.ID != first.Claim.ID || e.Claim.State() != sale.Cancelled {
				t.Errorf("key %q: told of %+v", key, e.Claim)
			}
		}
		_, err := asker.Purchase(w.Ctx, repeat)
		if e := w.Refused(sale.AlreadyOrdered, err); e.Claim.State() != sale.Cancelled {
			t.Errorf("another environment: told of %+v", e.Claim)
		}
	},
	"users with separators and foreign letters have claims of their own": func(t *testing.T, w *World) {
		w.Open(10, 1)
		users := []string{"a#b", "a", "a#b#c", "用户", "\uff21", "\u00e9", "e\u0301", `"`, "SALE"}
		for _, user := range users {
			w.Accepted(w.Buy(user))
		}
		w.Balanced(1)
	},
}

func ptr[T any](v T) *T { return &v }

func (w *World) edit(e sale.Edit) ledger.Edited {
	w.T.Helper()
	s, err := w.Ledger.Edit(w.Ctx, e)
	if err != nil {
		w.T.Fatalf("edit: %v", err)
	}
	return s
}

// Add adds units, or ends the test.
func (w *World) Add(seedID string, units int64) ledger.Seeding {
	w.T.Helper()
	s, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: seedID, Stock: units})
	if err != nil {
		w.T.Fatalf("add: %v", err)
	}
	return s
}

// limited opens a sale with a maxStock.
func (w *World) limited(stock int64, shards int, maxStock int64) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	c.MaxStock = maxStock
	w.Create(c)
	return c
}

var limiting = map[string]func(*testing.T, *World){
	"an addition beyond the maxStock is refused, and its seed id stays free": func(t *testing.T, w *World) {
		w.limited(6, 2, 10)
		before := len(w.Partition("SALE#moutai"))
		_, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 5})
		if e := w.Refused(sale.Conflicting, err); e.Detail != "the sale's maxStock leaves room for 4 more units" {
			t.Errorf("the detail is %q", e.Detail)
		}
		if after := len(w.Partition("SALE#moutai")); after != before || w.Number("SALE#moutai", "SALE", "seeded") != 6 {
			t.Errorf("%d items, before %d", after, before)
		}
		if s := w.Add("s", 4); !s.Applied || s.Seeded != 10 {
			t.Errorf("up to the maxStock: got %+v", s)
		}
		if s := w.Add("s", 4); s.Applied || s.Seeded != 10 {
			t.Errorf("the repeat, without room: got %+v", s)
		}
		_, err = w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "one-more", Stock: 1})
		w.Refused(sale.Conflicting, err)
	},
	"an addition that was cut off keeps its room for its repeat": func(t *testing.T, w *World) {
		w.limited(4, 4, 8)
		ctx, dying := w.cutAfter(2) // the announcement, one shard
		_, err := dying.Add(ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 4})
		w.Refused(sale.Busy, err)
		_, err = w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "other", Stock: 1})
		w.Refused(sale.Conflicting, err)
		if s := w.Add("s", 4); !s.Applied || s.Seeded != 8 {
			t.Errorf("got %+v", s)
		}
	},
	"additions at once do not pass the maxStock together": func(t *testing.T, w *World) {
		w.limited(4, 4, 20)
		var wait sync.WaitGroup
		for i := range 6 {
			l := w.Environment()
			wait.Go(func() {
				_, err := l.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: fmt.Sprint("s", i), Stock: 5})
				if code := sale.CodeOf(err); code != "" && code != sale.Conflicting {
					t.Errorf("got %v", err)
				}
			})
		}
		wait.Wait()
		if seeded := w.Number("SALE#moutai", "SALE", "seeded"); seeded != 19 {
			t.Errorf("%d units, want 19: 3 additions", seeded)
		}
		w.Balanced(4)
	},
	"a withdrawal gives room back for as many units as it took": func(t *testing.T, w *World) {
		w.limited(6, 2, 6)
		w.bought("alice")
		w.withdraws(w.Ledger, "typo", 99, done(5, 1, 2, true))
		_, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 6})
		w.Refused(sale.Conflicting, err)
		if s := w.Add("s", 5); s.Seeded != 6 {
			t.Errorf("got %+v", s)
		}
		w.withdraws(w.Ledger, "part", 1, done(1, 5, 2, true))
		if s := w.Add("one", 1); s.Seeded != 6 {
			t.Errorf("got %+v", s)
		}
	},
	"a creation with another maxStock is an error": func(t *testing.T, w *World) {
		c := w.limited(6, 2, 10)
		for _, other := range []int64{0, 9, 11} {
			c.MaxStock = other
			_, err := w.Ledger.Create(w.Ctx, c)
			w.Refused(sale.Conflicting, err)
		}
		c.MaxStock = 10
		if s, err := w.Ledger.Create(w.Ctx, c); err != nil || s.Applied {
			t.Errorf("got %+v (%v), want the same sale", s, err)
		}
	},
}

// value is an attribute value as text.
func value(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberNS:
		return fmt.Sprint(v.Value)
	case *types.AttributeValueMemberSS:
		return fmt.Sprint(slices.Sorted(slices.Values(v.Value)))
	}
	return fmt.Sprintf("%T", v)
}

func (w *World) remaining() ledger.Remaining {
	w.T.Helper()
	s, err := w.Ledger.Sale(w.Ctx, "moutai")
	if err != nil {
		w.T.Fatal(err)
	}
	r, err := w.Ledger.Remaining(w.Ctx, s)
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

// cutReads is a reader whose process dies after that many reads.
func (w *World) cutReads(reads int) (context.Context, *ledger.Ledger) {
	ctx, cancel := context.WithCancel(w.Ctx)
	w.T.Cleanup(cancel)
	var mu sync.Mutex
	dead := func() bool {
		mu.Lock()
		defer mu.Unlock()
		reads--
		return reads < 0
	}
	return ctx, w.Hooked(func(op string, _ any, call func() (any, error)) (any, error) {
		if (op == "Query" || op == "BatchGetItem") && dead() {
			cancel()
			return nil, errDead
		}
		return call()
	})
}
