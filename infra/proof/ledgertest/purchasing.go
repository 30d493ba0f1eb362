package ledgertest

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var purchasing = map[string]func(*testing.T, *World){
	"a second order by the same user is refused and shows the first, unless it has the first one's Idempotency-Key": func(t *testing.T, w *World) {
		w.Open(10, 3)
		first := w.Accepted(w.BuyWith("alice", "k1"))
		for name, l := range map[string]*ledger.Ledger{"the same environment": w.Ledger, "another one": w.Environment()} {
			_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "new"})
			refused := w.Refused(sale.AlreadyOrdered, err)
			check(t, refused.Claim != nil && refused.Claim.ID == first.Claim.ID, "%s shows %+v, want the claim %s", name, refused.Claim, first.Claim.ID)
			p := w.Accepted(l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "k1"}))
			check(t, !p.New && reflect.DeepEqual(p.Claim, first.Claim), "%s: got %+v, want the first claim %+v", name, p, first.Claim)
		}
		bob := w.Accepted(w.BuyWith("bob", "k1"))
		check(t, bob.New && bob.Claim.ID != first.Claim.ID, "another user got %+v with that key", bob)
		w.Settled(3)
	},
	"a claim beats every refusal for a request with its key": func(t *testing.T, w *World) {
		w.Open(1, 1)
		first := w.Accepted(w.BuyWith("alice", "k1"))
		w.Refused(sale.SoldOut, errOf(w.Buy("bob")))
		again := func(when string) {
			t.Helper()
			p, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "k1"})
			check(t, err == nil && reflect.DeepEqual(p.Claim, first.Claim), "%s: got %+v (%v), want the first claim", when, p, err)
			_, err = w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice", Key: "k2"})
			hasCode(t, sale.AlreadyOrdered, err, "%s", when)
		}
		again("sold out")
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: new(true)})
		again("paused")
		w.Pass(2 * time.Hour)
		again("closed")
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
		w.Settled(4)
	},
	"a sale that has not opened, is closed, paused or unknown sells nothing": func(t *testing.T, w *World) {
		w.Refused(sale.SaleNotFound, errOf(w.Buy("alice")))
		w.Pass(2 * time.Second) // the environment remembers what it did not find
		c := w.Sale(10, 2)
		c.OpensAt = w.Now().Add(time.Minute)
		w.Create(c)
		same(t, w.Refused(sale.NotOpen, errOf(w.Buy("alice"))).RetryAfter, time.Minute)
		w.Pass(time.Minute)
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: new(true)})
		w.Refused(sale.Paused, errOf(w.Buy("alice")))
		w.Pass(2 * time.Hour)
		w.Refused(sale.Closed, errOf(w.Buy("alice")))
		left := w.Stock(2)
		check(t, left[0]+left[1] == 10, "stock %v, want 10 in all", left)
	},
	"an environment that remembers a claim tells of its release": func(t *testing.T, w *World) {
		w.OpenUnpaid(2, 1)
		first := w.Accepted(w.BuyWith("alice", "key-1"))
		w.Confirmed([]ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: first.Claim.ID}})
		p := w.Accepted(w.BuyWith("alice", "key-1"))
		check(t, !p.New && p.Claim.State() == sale.Confirmed, "the repeat before the release got %+v", p)
		asker := w.Environment() // it has not sold the unit, and finds the claim
		repeat := ledger.Request{SaleID: "moutai", User: "alice", Key: "key-1"}
		w.Accepted(asker.Purchase(w.Ctx, repeat))
		w.Succeeds(w.Environment().Cancel(w.Ctx, "moutai", "alice"))
		for _, key := range []string{"key-1", "", "key-2"} {
			e := w.Refused(sale.AlreadyOrdered, errOf(w.BuyWith("alice", key)))
			check(t, e.Claim.ID == first.Claim.ID && e.Claim.State() == sale.Cancelled, "key %q: told of %+v", key, e.Claim)
		}
		e := w.Refused(sale.AlreadyOrdered, errOf(asker.Purchase(w.Ctx, repeat)))
		check(t, e.Claim.State() == sale.Cancelled, "another environment: told of %+v", e.Claim)
	},
	"a shard that was restocked since it was found empty is not closed": func(t *testing.T, w *World) {
		w.Open(1, 1)
		w.Accepted(w.Buy("first"))
		slow := w.overtaken("UpdateItem", func() {
			w.Succeeds(w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}))
		})
		w.Accepted(slow.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "second"}))
		s, err := w.Environment().Sale(w.Ctx, "moutai")
		if err != nil || s.Empty.Len() != 0 {
			t.Errorf("%d shards are said to be empty (%v), want none: nobody found it empty since", s.Empty.Len(), err)
		}
	},
	"opening is inclusive and closing exclusive, to the millisecond, also for an environment with an old snapshot": func(t *testing.T, w *World) {
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
			w.Succeeds(w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", OpensAt: window.opens, ClosesAt: window.closes}))
			for name, l := range map[string]*ledger.Ledger{"old": w.Ledger, "new": w.Environment()} {
				_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: fmt.Sprint(name, i)})
				hasCode(t, window.want, err, "window %v to %v at %v, %s environment", window.opens, window.closes, w.Now(), name)
			}
		}
	},
}
