package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// stocks is how many units the sale has had in stock, and since when.
type stocks struct {
	mu     sync.Mutex
	shards map[string]int64
	past   []struct {
		at    time.Time
		total int64
	}
}

func (s *stocks) record(r dynamotest.Record) {
	pk, n := r.Keys["pk"].(*types.AttributeValueMemberS).Value, r.New["stock"]
	if !strings.HasPrefix(pk, "STOCK#") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var total int64
	_, _ = fmt.Sscan(n.(*types.AttributeValueMemberN).Value, &total)
	s.shards[pk], total = total, 0
	for _, units := range s.shards {
		total += units
	}
	now := time.Now()
	if n := len(s.past); n == 0 || !s.past[n-1].at.Equal(now) {
		s.past = append(s.past, struct {
			at    time.Time
			total int64
		}{at: now})
	}
	s.past[len(s.past)-1].total = total
}

// least is the fewest units that were left at an instant of the last two seconds.
func (s *stocks) least(now time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := s.past[len(s.past)-1].total
	for i := len(s.past) - 2; i >= 0 && s.past[i+1].at.After(now.Add(-2*time.Second)); i-- {
		least = min(least, s.past[i].total)
	}
	return least
}

// had reports whether so many units were left at an instant.
func (s *stocks) had(units int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.past {
		if one.total == units {
			return true
		}
	}
	return false
}

// demand is who buys in a sale: each of so many environments serves so many buyers, one after the other, who ask for one
// to most units, and repeat what got no final answer.
type demand struct {
	stock                            int64
	shards, most, environments, each int
	additions                        int
}

// Buyers ask for several units while others do, units are added, batches are read of two instants, and halves of
// transactions are hidden from plain reads. No refusal may be untrue for two seconds (P5, P6), and in the end who asks
// for no more than are left gets them.
func TestNoBuyerOfSeveralUnitsIsRefusedUntruly(t *testing.T) {
	outcomes := map[sale.Code]int{}
	for seed := range uint64(400) {
		chance := rand.New(rand.NewPCG(seed, 1))
		buys(t, seed, demand{stock: int64(3 + chance.IntN(6)), shards: 2 + chance.IntN(2), most: 3, environments: 4, each: 6, additions: 3}, outcomes)
	}
	if outcomes[""] < 1000 || outcomes[sale.NotEnough] < 100 || outcomes[sale.SoldOut] < 100 {
		t.Errorf("the outcomes %v show too little", outcomes)
	}
	t.Log(outcomes)
}

func TestOfAThousandWhoAskForOneToFourOfAHundredUnitsEachIsSoldToOrRefusedTruly(t *testing.T) {
	outcomes := map[sale.Code]int{}
	buys(t, 1, demand{stock: 100, shards: 12, most: 4, environments: 100, each: 10}, outcomes)
	if n := outcomes[""] + outcomes[sale.NotEnough] + outcomes[sale.SoldOut]; n != 1000 || outcomes[""] < 25 || outcomes[""] > 100 {
		t.Errorf("%d of 1000 have a final answer: %v", n, outcomes)
	}
	t.Log(outcomes)
}

// buys lets them buy, and adds to the outcomes.
func buys(t *testing.T, seed uint64, by demand, outcomes map[sale.Code]int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(24 * time.Hour) // it begins with the year 2000
		chance := rand.New(rand.NewPCG(seed, 7))
		db, held := newDB(), &stocks{shards: map[string]int64{}}
		db.Stream, db.Busy = held.record, 5*time.Millisecond
		w := ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: table})
		c := w.Sale(by.stock, by.shards)
		c.MaxPerOrder, c.OpensAt, c.ClosesAt = by.most, time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		options := ledger.Options{Random: func() float64 { return 0.5 }}
		if _, err := ledger.New(db, table, options).Create(w.Ctx, c); err != nil {
			t.Fatal(err)
		}
		rates := dynamotest.Rates{
			Conflict: 0.05, Torn: 0.5, TornBy: 40 * time.Millisecond, Hidden: 0.4, HiddenFor: 60 * time.Millisecond,
		}.Seeded(seed)
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			f := rates(c)
			f.Delay += time.Duration(hash(c.N, seed)%20) * time.Millisecond
			return f
		}
		var all sync.WaitGroup
		for e := range by.environments {
			l, r := ledger.New(db, table, options), rand.New(rand.NewPCG(seed, uint64(2+e)))
			all.Go(func() {
				for i := range by.each {
					time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
					ask := int64(1 + r.IntN(by.most))
					request := ledger.Request{SaleID: "moutai", User: fmt.Sprint("user-", e, "-", i), Units: ask}
					_, err := l.Purchase(w.Ctx, request)
					for n := 0; sale.CodeOf(err) == sale.Busy && n < 20; n++ {
						time.Sleep(time.Second)
						_, err = l.Purchase(w.Ctx, request)
					}
					code := sale.CodeOf(err)
					needed := map[sale.Code]int64{sale.SoldOut: 1, sale.NotEnough: ask}[code]
					if least := held.least(time.Now()); needed > 0 && least >= needed {
						t.Errorf("seed %d: %v to somebody who asks for %d, but at least %d were left", seed, err, ask, least)
					}
					said, _ := errors.AsType[*sale.Error](err)
					if code == sale.NotEnough && (said.Left < 1 || said.Left >= ask || !held.had(said.Left)) {
						t.Errorf("seed %d: %d are said to be left to somebody who asks for %d", seed, said.Left, ask)
					}
					held.mu.Lock()
					outcomes[code]++
					held.mu.Unlock()
				}
			})
		}
		all.Go(func() {
			for i := range by.additions {
				time.Sleep(time.Duration(chance.IntN(900)) * time.Millisecond)
				a := sale.Addition{SaleID: "moutai", SeedID: fmt.Sprint("seed-", i), Stock: int64(1 + chance.IntN(2))}
				_, _ = ledger.New(db, table, options).Add(w.Ctx, a)
			}
		})
		all.Wait()
		db.Fault = nil
		time.Sleep(time.Second)
		w.Settled(c.Shards)
		for i := 0; held.least(time.Now()) > 0 && i < 20; i++ {
			time.Sleep(3 * time.Second)
			ask := min(3, held.least(time.Now()))
			_, err := ledger.New(db, table, options).Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: fmt.Sprint("last-", i), Units: ask})
			if err != nil {
				t.Errorf("seed %d: %v to the only buyer, who asks for the %d that are left", seed, err, ask)
			}
		}
		w.Settled(c.Shards)
	})
}

// hash spreads the delays of calls.
func hash(n int, seed uint64) uint64 { return rand.New(rand.NewPCG(seed, uint64(n))).Uint64() }

func TestWhoHasAnOrderHearsOfItAlsoIfTheEnvironmentKnowsThatNotEnoughAreLeft(t *testing.T) {
	w, _, _ := faulty(t)
	c := w.Sale(2, 2)
	c.MaxPerOrder = 2
	w.Create(c)
	w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"}))
	for user, want := range map[string]sale.Code{"bob": sale.NotEnough, "carol": sale.NotEnough, "alice": sale.AlreadyOrdered} {
		_, err := w.Ledger.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "carol", Units: 2})
		w.Refused(sale.NotEnough, err)
		p, err := w.Ledger.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user, Units: 2})
		if w.Refused(want, err); p.Tries != 0 {
			t.Errorf("%s: %d tries, want none", user, p.Tries)
		}
	}
}
