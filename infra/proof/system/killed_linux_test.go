package system

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
)

// nemesis kills processes of the stack with kill -9: functions, also exactly at their answers, the
// engine, and the whole stack, whose queues come back empty.
type nemesis struct {
	visit
	chance    *rand.Rand
	arguments []string // with which the stack is started again
	kills     map[string]int
	together  int // the most events that died with one process
}

// crowded is how many events die with one process at least once. A process takes 32 at once.
const crowded = 24

// died is how many events have died with their process.
func (n *nemesis) died() int {
	return bytes.Count(n.log(), []byte(`"status":"error","message":"{\"errorType\":\"Runtime.ExitError`))
}

// while kills at random moments until the work is done, and leaves everything running.
func (n *nemesis) while(work func()) {
	n.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(20+n.chance.IntN(250)) * time.Millisecond):
		}
		if n.Ended() {
			n.t.Fatalf("the stack ended without being killed: %v\n%s", n.Failure(), n.Output)
		}
		// Events gather in a frozen process, and die with it.
		frozen := time.Duration(n.chance.IntN(250)) * time.Millisecond
		switch roll := n.chance.IntN(100); {
		case roll < 25 && n.together < crowded:
			n.killOne(time.Second, func(kind string) bool { return kind == "PurchaseFunction" })
		case roll < 75:
			n.killOne(frozen, func(kind string) bool { return kind != engine })
		case roll < 93:
			n.killOne(frozen, func(kind string) bool { return kind == engine })
		default:
			n.kills["stack"]++
			n.killStack()
			n.start(n.arguments...)
		}
	}
}

// killOne freezes a process of those kinds, if there is one, and kills it. It chooses the kind first, because some
// functions have many processes and some have one.
func (n *nemesis) killOne(frozen time.Duration, is func(kind string) bool) {
	n.t.Helper()
	victims := n.processes()
	kinds := slices.DeleteFunc(slices.Collect(maps.Keys(victims)), func(kind string) bool { return !is(kind) })
	if len(kinds) == 0 {
		return // none since the stack was killed
	}
	slices.Sort(kinds)
	kind := kinds[n.chance.IntN(len(kinds))]
	victim := victims[kind][n.chance.IntN(len(victims[kind]))]
	before := n.died()
	_ = victim.Signal(syscall.SIGSTOP)
	time.Sleep(frozen)
	if victim.Signal(syscall.SIGKILL) == nil {
		n.kills[kind]++
	}
	time.Sleep(20 * time.Millisecond) // less than another process needs to get events and die
	n.together = max(n.together, n.died()-before)
}

// pays reports the payment of an order twice at once, as its provider may, until it is answered.
func (v visit) pays(h *verdict.History, user, provider string, p webhook.Payment) {
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				r, err := p.Request(context.Background(), v.API, provider, webhook.LocalSecrets[provider], time.Now())
				if err != nil {
					v.t.Error(err)
					return
				}
				a, err := v.client.Do(r)
				if outcome, ok := webhook.Outcome(a.Status, a.Body); err == nil && ok {
					h.Paid(user, provider+"#"+p.PaymentID, outcome)
					return
				}
				if err == nil && a.Status < 500 && a.Status != http.StatusTooManyRequests {
					h.Report("P24", "the payment %s of %s got %s", p.PaymentID, user, a)
					return
				}
			}
			v.t.Errorf("the payment %s is never answered", p.PaymentID)
		})
	}
	both.Wait()
}

// Buyers buy and pay while parts of the stack are killed and calls meet faults. When everything has
// recovered, the table agrees with itself and with all answers, and every event is published.
func TestNoPromiseIsBrokenWhateverIsKilled(t *testing.T) {
	s := shared(t)
	const units, buyers = 60, 150
	seed := uint64(time.Now().UnixNano())
	saleID := fmt.Sprint("killed-", seed)
	t.Logf("seed %d", seed)
	sale := client.Sale{ID: saleID, OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(time.Hour), Stock: units, Shards: 4, PayWithin: time.Hour}
	s.create(sale)
	crowd := rush.Plan(seed, buyers, 3)
	for i := range crowd {
		crowd[i].Token = s.token(crowd[i].User)
		crowd[i].At = time.Duration(3*i/buyers) * 3 * time.Second // in three waves
	}
	n := &nemesis{
		visit: s, chance: rand.New(rand.NewPCG(seed, 1)), kills: map[string]int{},
		arguments: []string{"-faults", "mild", "-kill-at-response", "0.04", "-at-once", "32"},
	}
	s.stop()
	s.start(n.arguments...)
	history := verdict.New(verdict.Sale{Units: units, Shards: 4, AsksForPayment: true})
	r := rush.Rush{API: s.client, SaleID: saleID, Crowd: crowd, InFlight: 64, Insists: true, History: history}

	n.while(func() { r.Run(t.Context(), func() {}) })
	// Messages that were lost with the queues are sent again after half a minute at the earliest.
	s.eventually("every claim has its order", func() bool {
		_ = s.client.Ask(t.Context(), client.ReconcileFunction, struct{}{}, nil) // a kill may cause any failure
		all, err := books.Read(t.Context(), s.db(), table)
		return err == nil && finished(all)
	})
	following, enough := context.WithTimeout(t.Context(), patience)
	defer enough()
	r.Follow(following)

	claims := s.items().Sale(saleID).Claims
	n.while(func() {
		var paying sync.WaitGroup
		for i, c := range claims {
			provider := webhook.Told[i%len(webhook.Told)]
			p := webhook.Payment{SaleID: saleID, OrderID: c.OrderID, PaymentID: c.ClaimID, Amount: client.Price, Currency: client.Currency}
			paying.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond)
				s.pays(history, c.User, provider, p)
				if i%5 == 0 { // and once more, which must go back
					p.PaymentID += "-again"
					s.pays(history, c.User, provider, p)
				}
			})
		}
		paying.Wait()
	})

	s.stop()
	s.start()
	all := s.items()
	s.balances(all, saleID)
	for _, f := range slices.Concat(history.Findings(), history.Compare(all.Sale(saleID))) {
		t.Error(f)
	}
	s.eventually("every event is published", func() bool {
		r, err := books.CheckEvents(t.Context(), s.db(), table, filepath.Join(s.data, "events.jsonl"), saleID, books.Options{Overdue: books.AtOnce})
		if err != nil || len(r.Findings) > 0 && r.Complete {
			t.Fatalf("%+v, %v", r, err)
		}
		return r.Complete
	})
	winners := history.Winners()
	t.Logf("%d got a unit; killed: %v; up to %d events died with one process", winners, n.kills, n.together)
	if winners != units || n.kills[engine] == 0 || len(n.kills) < 4 || n.together < crowded {
		t.Errorf("%d of %d units were sold; killed were only %v, and at most %d events with one process", winners, units, n.kills, n.together)
	}
}
