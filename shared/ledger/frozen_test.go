package ledger_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock/clocktest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// freezer is a table, an environment that may be frozen, and another one that runs
// meanwhile.
type freezer struct {
	t     *testing.T
	db    *dynamotest.DB
	clock *clocktest.Environment
	// frozen is the environment under test.
	frozen, other *ledger.Ledger
	edits         int
}

func newFreezer(t *testing.T) *freezer {
	f := &freezer{t: t, db: newDB(), clock: clocktest.New()}
	f.frozen = ledger.New(f.db, table, ledger.Options{Now: f.clock.Wall})
	f.other = ledger.New(f.db, table, ledger.Options{Now: f.clock.Wall})
	return f
}

func (f *freezer) create(stock int64) {
	f.t.Helper()
	now := f.clock.Wall()
	c := sale.Creation{SaleID: "moutai", Stock: stock, Shards: 1, OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(2 * time.Hour)}
	if err := c.Check(); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.other.Create(f.t.Context(), c); err != nil {
		f.t.Fatal(err)
	}
}

// edit pauses or resumes the sale, each time with a later instant, whatever the clock
// shows.
func (f *freezer) edit(paused bool) {
	f.t.Helper()
	f.edits++
	at := time.Unix(0, 0).Add(time.Duration(f.edits) * time.Second)
	if _, err := f.other.Edit(f.t.Context(), sale.Edit{SaleID: "moutai", At: at, Paused: &paused}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *freezer) add(units int64) {
	f.t.Helper()
	if _, err := f.other.Add(f.t.Context(), sale.Addition{SaleID: "moutai", SeedID: "s", Stock: units}); err != nil {
		f.t.Fatal(err)
	}
}

// buy makes a purchase in the frozen environment.
func (f *freezer) buy(user string) (ledger.PurchaseResult, error) {
	return f.frozen.Purchase(f.t.Context(), ledger.Request{SaleID: "moutai", User: user})
}

// refused expects that code twice: the second answer comes from memory, but for the
// refusal read of the claim of a user who is told "sold out".
func (f *freezer) refused(want sale.Code, user string) {
	f.t.Helper()
	for range 2 {
		f.db.ResetUsage()
		if _, err := f.buy(user); sale.CodeOf(err) != want {
			f.t.Fatalf("%s: got %v, want %s", user, err, want)
		}
	}
	calls := map[string]int{}
	if want == sale.SoldOut {
		calls["GetItem"] = 1
	}
	if got := f.db.Calls(); !maps.Equal(got, calls) {
		f.t.Fatalf("%s is not answered from memory: %v, want %v", want, got, calls)
	}
}

// leaps are changes of the wall clock while the environment does not run.
var leaps = map[string]func(*clocktest.Environment){
	"frozen for 20 minutes":           func(c *clocktest.Environment) { c.Freeze(20 * time.Minute) },
	"its wall clock has stepped back": func(c *clocktest.Environment) { c.StepBack(30 * time.Second) },
}

func TestAnEnvironmentThatWasFrozenRefusesNothingByWhatItKnewBefore(t *testing.T) {
	tests := []struct {
		refusal   sale.Code
		before    func(*freezer)
		meanwhile func(*freezer)
	}{
		{sale.SoldOut, func(f *freezer) {
			f.create(1)
			if _, err := f.other.Purchase(f.t.Context(), ledger.Request{SaleID: "moutai", User: "alice"}); err != nil {
				f.t.Fatal(err)
			}
		}, func(f *freezer) { f.add(1) }},
		{sale.Paused, func(f *freezer) { f.create(1); f.edit(true) }, func(f *freezer) { f.edit(false) }},
		{sale.SaleNotFound, func(*freezer) {}, func(f *freezer) { f.create(1) }},
	}
	for name, leap := range leaps {
		for _, tt := range tests {
			t.Run(string(tt.refusal)+", "+name, func(t *testing.T) {
				f := newFreezer(t)
				tt.before(f)
				f.refused(tt.refusal, "bob")
				leap(f.clock)
				tt.meanwhile(f)
				if _, err := f.buy("bob"); err != nil {
					t.Errorf("got %v, want the unit that is there now", err)
				}
			})
		}
	}
}

func TestAnEnvironmentThatWasFrozenReadsTheClaimOfARepeatAnew(t *testing.T) {
	for name, leap := range leaps {
		t.Run(name, func(t *testing.T) {
			f := newFreezer(t)
			f.create(2)
			p, err := f.buy("alice")
			if err != nil {
				t.Fatal(err)
			}
			f.refused(sale.AlreadyOrdered, "alice")
			leap(f.clock)
			confirmed := f.other.Confirm(t.Context(), []ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: p.Claim.ID}})
			if confirmed[0].Err != nil {
				t.Fatal(confirmed[0].Err)
			}
			p, err = f.buy("alice")
			if sale.CodeOf(err) != sale.AlreadyOrdered || p.Claim.OrderID != confirmed[0].Order.ID {
				t.Errorf("got %v and order %d, want already ordered as %d", err, p.Claim.OrderID, confirmed[0].Order.ID)
			}
		})
	}
}

func TestAnEnvironmentThatWasFrozenCountsTheRemainingUnitsAnew(t *testing.T) {
	for name, leap := range leaps {
		t.Run(name, func(t *testing.T) {
			f := newFreezer(t)
			f.create(2)
			if left := f.remaining(t.Context()); left != 2 {
				t.Fatalf("%d units remain, want 2", left)
			}
			leap(f.clock)
			if _, err := f.other.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: "alice"}); err != nil {
				t.Fatal(err)
			}
			if left := f.remaining(t.Context()); left != 1 {
				t.Errorf("%d units remain, want 1", left)
			}
		})
	}
}

func (f *freezer) remaining(ctx context.Context) int64 {
	f.t.Helper()
	s, err := f.frozen.Sale(ctx, "moutai")
	if err != nil {
		f.t.Fatal(err)
	}
	left, err := f.frozen.Remaining(ctx, s)
	if err != nil {
		f.t.Fatal(err)
	}
	return left.Units
}
