package books

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// between is a table with a hook between the reads of a recount.
type between struct {
	*dynamotest.DB
	happen func(call string)
}

func (b between) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	defer b.happen("Query")
	return b.DB.Query(ctx, in, o...)
}

func (b between) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	defer b.happen("BatchGetItem")
	return b.DB.BatchGetItem(ctx, in, o...)
}

func TestASaleBalancesInTheMiddleOfSelling(t *testing.T) {
	for seed := range uint64(40) {
		w := newWorld(t)
		w.Open(60, 6)
		chance := rand.New(rand.NewPCG(seed, 1))
		var bought []ledger.ClaimRef
		users, seeds := 0, 0
		act := func(string) {
			w.Pass(time.Millisecond)
			switch chance.IntN(6) {
			case 0, 1, 2:
				bought = append(bought, w.buy(users, 1+chance.IntN(4))...)
				users += 4
			case 3:
				w.Confirmed(bought[:chance.IntN(len(bought)+1)])
			case 4:
				if chance.IntN(3) == 0 {
					seeds++
					w.Add(fmt.Sprint("seed-", seeds), 1+chance.Int64N(9))
					w.withdraw(fmt.Sprint("less-", seeds), 1+chance.Int64N(5))
				}
			case 5:
				if chance.IntN(4) == 0 {
					w.edit(sale.Edit{OpensAt: w.Now().Add(-time.Minute), ClosesAt: w.Now().Add(time.Hour)})
				}
			}
		}
		r, err := Recount(w.Ctx, between{w.db, act}, tableName, "moutai", Options{Now: w.Now, Sleep: noSleep})
		if err != nil || !r.Balanced {
			t.Fatalf("seed %d: %+v (%v)", seed, r, err)
		}
	}
}

func TestASaleIsFoundBrokenInTheMiddleOfSelling(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(items)
		finds  string
	}{
		"a claim is gone": {func(all items) {
			for i := range 5 {
				delete(all, all.claim(fmt.Sprint("user-", i)))
			}
		}, "sold while it was counted, but it has"},
		"units are too many":  {func(all items) { all.add(shardKey(0), "stock", 9) }, "sold while it was counted, but it has"},
		"seeded is too high":  {func(all items) { all.add(shardKey(0), "seeded", 9) }, "9 too many"},
		"seeded is too low":   {func(all items) { all.add(shardKey(0), "seeded", -1) }, "1 too few"},
		"the sale's is wrong": {func(all items) { all.add(saleKey, "seeded", 1) }, "the sale says that"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Open(60, 1)
			w.Confirmed(w.buy(0, 5))
			all := w.items()
			c.tamper(all)
			w.db = load(t, all)
			w.Ledger = w.EnvironmentOver(w.db)
			users := 5
			db := between{w.db, func(string) { w.buy(users, 1); users++ }}
			r, err := Recount(w.Ctx, db, tableName, "moutai", Options{Now: w.Now, Sleep: noSleep})
			if err != nil || r.Balanced || !strings.Contains(fmt.Sprint(r.Findings), c.finds) {
				t.Errorf("got %+v (%v)", r, err)
			}
		})
	}
}

// selling is a source where a purchase is committed just before each read of a kind, and
// where one of its items becomes visible only while the reader sleeps.
type selling struct {
	*world
	before string // the reads, by how their pk begins
	hides  string // the item, likewise
	users  int
	hidden items
}

// look returns what a read of pk sees.
func (s *selling) look(pk string) *Books {
	if strings.HasPrefix(pk, s.before) {
		before := s.items()
		s.buy(s.users, 1)
		s.users++
		for k, it := range s.items() {
			if strings.HasPrefix(k.pk, s.hides) && fmt.Sprint(before[k]) != fmt.Sprint(it) {
				if _, already := s.hidden[k]; !already {
					s.hidden[k] = before[k]
				}
			}
		}
	}
	seen := s.items()
	for k, it := range s.hidden {
		if seen[k] = it; it == nil {
			delete(seen, k)
		}
	}
	return Of(slices.Collect(maps.Values(seen)))
}

func (s *selling) partition(ctx context.Context, pk string, n int32, page func([]item) error) error {
	return s.look(pk).partition(ctx, pk, n, page)
}

func (s *selling) get(ctx context.Context, keys []key) (map[key]item, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	return s.look(keys[0].pk).get(ctx, keys)
}

func (s *selling) scan(ctx context.Context, page func([]item) error) (string, error) {
	return s.look("").scan(ctx, page)
}

func (s *selling) cost() float64 { return 0 }

func TestPurchasesThatAreAlwaysHalfVisibleAreNoFinding(t *testing.T) {
	for _, c := range []struct{ before, hides string }{{"STOCK#", "CLAIM#"}, {"CLAIM#", "STOCK#"}} {
		w := newWorld(t)
		w.Open(40, 1)
		src := &selling{world: w, before: c.before, hides: c.hides, hidden: items{}}
		o := Options{Now: w.Now, Sleep: func(context.Context, time.Duration) error { src.hidden = items{}; return nil }}
		o.setDefaults()
		if r, err := recount(t.Context(), src, "moutai", o); err != nil || !r.Balanced {
			t.Errorf("before each read of %s the %s was late: %+v (%v)", c.before, c.hides, r, err)
		}
	}
}
