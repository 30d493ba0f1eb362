package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/clock/clocktest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestCallsInTheSteadyState(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(4, 2)
	calls := func(what string, want map[string]int, do func()) {
		t.Helper()
		db.ResetUsage()
		do()
		if got := fmt.Sprint(db.Calls()); got != fmt.Sprint(want) {
			t.Errorf("%s: calls %v, want %v", what, got, want)
		}
	}
	w.Accepted(w.Buy("warm"))
	calls("accepted", map[string]int{"TransactWriteItems": 1}, func() { w.Accepted(w.Buy("alice")) })
	calls("duplicate", map[string]int{}, func() { _, err := w.Buy("alice"); w.Refused(sale.AlreadyOrdered, err) })
	w.Accepted(w.Buy("c"))
	w.Accepted(w.Buy("d"))
	_, err := w.Buy("e")
	w.Refused(sale.SoldOut, err)
	w.Pass(2 * time.Second)
	calls("sold out, once a second", map[string]int{"GetItem": 2}, func() { _, err := w.Buy("f"); w.Refused(sale.SoldOut, err) })
	calls("sold out", map[string]int{"GetItem": 1}, func() { _, err := w.Buy("g"); w.Refused(sale.SoldOut, err) })
	calls("sold out, with a key", map[string]int{"GetItem": 1}, func() { _, err := w.BuyWith("h", "k"); w.Refused(sale.SoldOut, err) })
	refusalReads(db, dynamotest.Fault{Kind: dynamotest.Throttle})
	calls("sold out, no room", map[string]int{"GetItem": 1}, func() { _, err := w.Buy("i"); w.Refused(sale.SoldOut, err) })
	calls("sold out, within a second", map[string]int{}, func() { _, err := w.Buy("j"); w.Refused(sale.SoldOut, err) })
}

func TestTwoShardsNeverEmptyTogetherAreNotSoldOut(t *testing.T) {
	// An environment sees shard 0 empty; shard 0 is restocked; then shard 1 runs empty.
	// They were never empty at the same time: "sold out" would be wrong (P6).
	w, _, _ := faulty(t)
	w.Open(2, 2)
	l := w.Hooked(deaf) // its findings are lost
	buy := func(l *ledger.Ledger, user string) int {
		t.Helper()
		return w.Accepted(l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user})).Claim.Shard
	}
	if _, err := l.Sale(w.Ctx, "moutai"); err != nil { // its snapshot: nothing is empty
		t.Fatal(err)
	}
	if got := buy(w.Ledger, userOf(0, "a")); got != 0 {
		t.Fatalf("the first unit came from shard %d", got)
	}
	if got := buy(l, userOf(0, "b")); got != 1 {
		t.Fatalf("the second unit came from shard %d", got)
	}
	if _, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
		t.Fatal(err) // one unit, in shard 0
	}
	if got := buy(l, "late"); got != 0 {
		t.Errorf("the third unit came from shard %d", got)
	}
	w.Balanced(2)
}

func TestAKeyedClickWhoseTwinTookTheLastUnitIsNotSoldOut(t *testing.T) {
	// One click finds shard 0 empty; before it continues, its twin takes the last unit,
	// of shard 1. The first must not get "sold out".
	w, _, _ := faulty(t)
	w.Open(2, 2)
	user := userOf(0, "twin")
	w.Accepted(w.Ledger.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(0, "other")}))
	request := ledger.Request{SaleID: "moutai", User: user, Key: "k"}
	var twin ledger.PurchaseResult
	closing := sync.OnceFunc(func() {
		twin = w.Accepted(w.Environment().Purchase(w.Ctx, request))
		_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "closes the shard"})
		w.Refused(sale.SoldOut, err)
	})
	p, err := w.Hooked(dynamotest.Before("UpdateItem", closing)).Purchase(w.Ctx, request)
	if err != nil || !reflect.DeepEqual(p.Claim, twin.Claim) {
		t.Errorf("got %+v (%v), want the twin's claim %+v", p, err, twin.Claim)
	}
}

// deaf loses every closing of a shard.
var deaf = dynamotest.Instead("UpdateItem", func() (*dynamodb.UpdateItemOutput, error) { return nil, errors.New("lost") })

// userOf returns a user whose first choice of two open shards is that one.
func userOf(shard int, prefix string) string {
	for i := 0; ; i++ {
		user := fmt.Sprint(prefix, i)
		if sale.ShardFor(user, 0, &sale.Set{}, 2) == shard {
			return user
		}
	}
}

func TestAStaleSnapshotNeverRefuses(t *testing.T) {
	// The sale cannot be read any more: an environment that last saw it paused must
	// stop answering so.
	w, db, _ := faulty(t)
	w.Open(10, 1)
	e := sale.Edit{SaleID: "moutai", At: w.Now(), Paused: aws.Bool(true)}
	if _, err := w.Ledger.Edit(w.Ctx, e); err != nil {
		t.Fatal(err)
	}
	_, err := w.Buy("alice")
	w.Refused(sale.Paused, err)
	db.Fault = dynamotest.Fault{Kind: dynamotest.ServerError}.On("GetItem", "")
	w.Pass(2 * time.Second)
	_, err = w.Buy("alice")
	w.Refused(sale.Busy, err)
}

func TestAStaleReadNeverRefuses(t *testing.T) {
	// Eventually consistent reads still show the sale as it was before it was
	// resumed, or restocked: only a consistent one may refuse.
	w, db, _ := faulty(t)
	db.Now, db.Lag = w.Now, time.Minute
	w.Open(1, 1)
	w.Accepted(w.Buy("first"))
	_, err := w.Buy("second")
	w.Refused(sale.SoldOut, err)
	w.Pass(2 * db.Lag) // every read shows this now
	w.Add("s", 1)
	w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "second"}))
}

func TestAStaleReadConfirmsNoEmptyShard(t *testing.T) {
	// An environment finds the only shard empty, cannot close it, and a stale read
	// shows the same version, although the sale has been restocked since.
	w, db, _ := faulty(t)
	db.Now = w.Now
	w.Open(1, 1)
	l := w.Hooked(deaf)
	if _, err := l.Sale(w.Ctx, "moutai"); err != nil {
		t.Fatal(err)
	}
	w.Accepted(w.Buy("first"))
	db.Lag = time.Minute
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if in, ok := c.Input.(*dynamodb.GetItemInput); ok && aws.ToBool(in.ConsistentRead) {
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	}
	_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "second"})
	w.Refused(sale.Busy, err)
	w.Pass(2 * time.Second)
	_, err = l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "second"})
	w.Refused(sale.Busy, err)
}

func TestSoldOutIsToldForLessThanTwoSecondsWithoutAReading(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(1, 1)
	w.Accepted(w.Buy("first"))
	_, err := w.Buy("second")
	w.Refused(sale.SoldOut, err)
	db.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("GetItem", "")
	w.Pass(1800 * time.Millisecond)
	_, err = w.Buy("third")
	w.Refused(sale.SoldOut, err)
	w.Pass(150 * time.Millisecond)
	_, err = w.Buy("fourth")
	w.Refused(sale.Busy, err)
}

func TestARefusalThatIsTooOldAfterTheSearchForTheClaimIsBusy(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(1, 1)
	w.Accepted(w.Buy("first"))
	_, err := w.Buy("second")
	w.Refused(sale.SoldOut, err)
	search := func(took time.Duration) {
		db.Fault = dynamotest.On("GetItem", "CLAIM#", func(dynamotest.Call) dynamotest.Fault {
			w.Pass(took)
			return dynamotest.Fault{}
		})
	}
	w.Pass(1300 * time.Millisecond) // the snapshot is fresh
	search(599 * time.Millisecond)
	_, err = w.BuyWith("third", "k")
	w.Refused(sale.SoldOut, err)
	w.Pass(time.Second)
	search(0)
	_, err = w.BuyWith("third", "k") // reads the sale again
	w.Refused(sale.SoldOut, err)
	w.Pass(1300 * time.Millisecond)
	search(600 * time.Millisecond)
	_, err = w.BuyWith("third", "k")
	w.Refused(sale.Busy, err)
	w.Pass(1300 * time.Millisecond)
	if _, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
		t.Fatal(err)
	}
	search(0)
	w.Accepted(w.BuyWith("third", "k"))
}

func TestAThrottledSaleItemIsNotAskedAgainAtOnce(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(10, 1)
	w.Accepted(w.Buy("warm"))
	reads := 0
	db.Fault = dynamotest.On("GetItem", "", func(dynamotest.Call) dynamotest.Fault {
		reads++
		return dynamotest.Fault{Kind: dynamotest.Throttle}
	})
	w.Pass(2 * time.Second)
	for i := range 5 {
		w.Accepted(w.Buy(fmt.Sprint("buyer", i)))
	}
	if reads != 1 {
		t.Errorf("five purchases in one instant read the throttled sale %d times, want once", reads)
	}
	w.Pass(time.Second)
	w.Accepted(w.Buy("later"))
	if reads != 2 {
		t.Errorf("%d reads a second later, want another one", reads)
	}
}

func TestAThrottledClosingIsRepeated(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(2, 2)
	w.Accepted(w.Buy(userOf(0, "first")))
	throttled := 0
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op == "UpdateItem" && throttled < 2 {
			throttled++
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	}
	w.Accepted(w.Buy(userOf(0, "second")))
	s, err := w.Environment().Sale(w.Ctx, "moutai")
	if err != nil || !s.Empty.Has(0) {
		t.Errorf("after two throttled tries shard 0 is not closed (%v)", err)
	}
}

func TestAnOldSnapshotThatAdmitsIsGoodEnoughToBuy(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(10, 1)
	w.Accepted(w.Buy("alice"))
	db.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("GetItem", "")
	w.Pass(2 * time.Second)
	w.Accepted(w.Buy("bob"))
}

func TestARefusalThatNoConsistentReadConfirmsIsBusyEachTime(t *testing.T) {
	// The sale was restocked; eventually consistent reads still show it sold out, and
	// consistent ones are throttled.
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		db.Lag = 10 * time.Second
		w.Open(1, 1)
		w.Accepted(w.Buy("first"))
		_, err := w.Buy("second")
		w.Refused(sale.SoldOut, err)
		w.Pass(2 * db.Lag)
		time.Sleep(2 * db.Lag)
		w.Add("s", 1)
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if in, ok := c.Input.(*dynamodb.GetItemInput); ok && aws.ToBool(in.ConsistentRead) {
				return dynamotest.Fault{Kind: dynamotest.Throttle}
			}
			return dynamotest.Fault{}
		}
		l := w.Environment()
		for range 2 {
			_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "second"})
			w.Refused(sale.Busy, err)
		}
	})
}

func TestAnEmptyShardIsReadAboutBeforeItIsClosedAgain(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(6, 2)
	late := w.Environment()
	if _, err := late.Sale(w.Ctx, "moutai"); err != nil { // its snapshot: nothing is empty
		t.Fatal(err)
	}
	calls := func(what string, l *ledger.Ledger, user string, want map[string]int) {
		t.Helper()
		db.ResetUsage()
		p := w.Accepted(l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user}))
		if p.Claim.Shard != 1 {
			t.Errorf("%s: took shard %d, want 1", what, p.Claim.Shard)
		}
		if got := fmt.Sprint(db.Calls()); got != fmt.Sprint(want) {
			t.Errorf("%s: calls %v, want %v", what, got, want)
		}
	}
	first := w.Environment()
	for i := range 3 {
		w.Accepted(first.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(0, fmt.Sprint("early", i))}))
	}
	w.Pass(200 * time.Millisecond)
	calls("first to notice", first, userOf(0, "first"), map[string]int{"TransactWriteItems": 2, "GetItem": 1, "UpdateItem": 1})
	calls("noticed by others", late, userOf(0, "late"), map[string]int{"TransactWriteItems": 2, "GetItem": 1})
	w.Balanced(2)
}

// Where reads are scarce somebody must write, but no environment six times.
func TestAnEmptyShardIsClosedByOneTryIfTheSaleCannotBeRead(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(6, 2)
	l := w.Environment()
	if _, err := l.Sale(w.Ctx, "moutai"); err != nil {
		t.Fatal(err)
	}
	if err := db.Tamper(w.Ctx, table, "STOCK#moutai#0", "STOCK", "stock", -3); err != nil {
		t.Fatal(err)
	}
	w.Pass(200 * time.Millisecond)
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op != "TransactWriteItems" {
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	}
	db.ResetUsage()
	w.Accepted(l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(0, "alice")}))
	if got, want := fmt.Sprint(db.Calls()), fmt.Sprint(map[string]int{"GetItem": 1, "TransactWriteItems": 2, "UpdateItem": 1}); got != want {
		t.Errorf("calls %v, want %v", got, want)
	}
}

// Its write says that the sale has another version, but not what it says of the shards.
func TestAClosingOfAnotherVersionThatCannotBeReadIsATry(t *testing.T) {
	const shards = 50
	w, db, _ := faulty(t)
	w.Open(shards, shards)
	// It does not wait between its tries, so its snapshot stays new enough to write without another read.
	l := ledger.New(db, table, ledger.Options{Now: w.Now, Random: func() float64 { return 0 }})
	if _, err := l.Sale(w.Ctx, "moutai"); err != nil {
		t.Fatal(err)
	}
	for k := range shards {
		if err := db.Tamper(w.Ctx, table, fmt.Sprintf("STOCK#moutai#%d", k), "STOCK", "stock", -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Tamper(w.Ctx, table, "SALE#moutai", "SALE", "version", 1); err != nil {
		t.Fatal(err)
	}
	db.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("GetItem", "")
	db.ResetUsage()
	_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
	w.Refused(sale.Busy, err)
	if got := db.Calls(); got["TransactWriteItems"] != 6 || got["UpdateItem"] != 6 {
		t.Errorf("calls %v, want six transactions and as many closings", got)
	}
}

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
