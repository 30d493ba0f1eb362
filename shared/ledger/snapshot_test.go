package ledger_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestCallsInTheSteadyState(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(4, 2)
	calls(t, db, "the first one of an environment", map[string]int{"GetItem": 1, "TransactWriteItems": 1}, func() { w.Accepted(w.Buy("warm")) })
	if _, reads := db.Consumed(); reads != 0.5 {
		t.Errorf("the first one of an environment reads the sale for %v read units, want half of one", reads)
	}
	calls(t, db, "accepted", map[string]int{"TransactWriteItems": 1}, func() { w.Accepted(w.Buy("alice")) })
	calls(t, db, "duplicate", map[string]int{}, func() { _, err := w.Buy("alice"); w.Refused(sale.AlreadyOrdered, err) })
	w.Accepted(w.Buy("c"))
	w.Accepted(w.Buy("d"))
	_, err := w.Buy("e")
	w.Refused(sale.SoldOut, err)
	w.Pass(2 * time.Second)
	calls(t, db, "sold out, once a second", map[string]int{"GetItem": 2}, func() { _, err := w.Buy("f"); w.Refused(sale.SoldOut, err) })
	calls(t, db, "sold out", map[string]int{"GetItem": 1}, func() { _, err := w.Buy("g"); w.Refused(sale.SoldOut, err) })
	calls(t, db, "sold out, with a key", map[string]int{"GetItem": 1}, func() { _, err := w.BuyWith("h", "k"); w.Refused(sale.SoldOut, err) })
	refusalReads(db, dynamotest.Fault{Kind: dynamotest.Throttle})
	calls(t, db, "sold out, no room", map[string]int{"GetItem": 1}, func() { _, err := w.Buy("i"); w.Refused(sale.SoldOut, err) })
	calls(t, db, "sold out, within a second", map[string]int{}, func() { _, err := w.Buy("j"); w.Refused(sale.SoldOut, err) })
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
	w.Settled(2)
}

func TestAnAdditionOfWhichTheSaleDoesNotShowYetIsNotSoldOut(t *testing.T) {
	// At every instant a unit is left: shard 0 is restocked, then the last unit of shard 1 is sold. Plain reads do
	// not see the sale's half of the restocking yet, and this environment's closings of shards are lost.
	synctest.Test(t, func(t *testing.T) {
		w, _, next := faulty(t)
		w.Open(2, 2)
		const hidden = 5 * time.Second
		buy := func(l *ledger.Ledger, user string) (ledger.PurchaseResult, error) {
			return l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user})
		}
		added := make(chan struct{})
		restocked := sync.OnceFunc(func() { // when the environment has found shard 0 empty
			next(dynamotest.Fault{}, dynamotest.Fault{Hidden: []int{2}, HiddenFor: hidden, ReplyDelay: hidden})
			go func() {
				defer close(added)
				_, _ = w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 1}) // busy
			}()
			synctest.Wait()
			w.Accepted(buy(w.Environment(), userOf(1, "c")))
		})
		l := w.Hooked(dynamotest.Instead("UpdateItem", func() (*dynamodb.UpdateItemOutput, error) {
			restocked()
			return nil, errors.New("lost")
		}))
		if _, err := l.Sale(w.Ctx, "moutai"); err != nil { // its snapshot: nothing is empty
			t.Fatal(err)
		}
		w.Accepted(buy(w.Environment(), userOf(0, "a")))
		for range 2 {
			_, err := buy(l, userOf(0, "b"))
			w.Refused(sale.Busy, err)
		}
		<-added
		time.Sleep(hidden)
		w.Pass(hidden)
		w.Accepted(buy(l, userOf(0, "b")))
		w.Settled(2)
	})
}

func TestACallWritesTheSaleOnceATryWhereThatTakesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.Open(1, 1)
		l := w.Knowing()
		w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "first"}))
		closings := 0
		db.Fault = dynamotest.On("UpdateItem", "SALE#moutai", func(dynamotest.Call) dynamotest.Fault {
			closings++
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		})
		for n, want := range []int{11, 6} { // the first also has the six tries of finding the shard empty
			closings = 0
			_, err := l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: fmt.Sprint("late-", n)})
			if w.Refused(sale.Busy, err); closings != want {
				t.Errorf("call %d writes %d times, want %d", n, closings, want)
			}
		}
	})
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

func TestAnEmptyShardIsReadAboutBeforeItIsClosedAgain(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(6, 2)
	late := w.Knowing()
	buys := func(l *ledger.Ledger, user string) func() {
		return func() {
			if p := w.Accepted(l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user})); p.Claim.Shard != 1 {
				t.Errorf("%s took shard %d, want 1", user, p.Claim.Shard)
			}
		}
	}
	first := w.Environment()
	for i := range 3 {
		w.Accepted(first.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(0, fmt.Sprint("early", i))}))
	}
	w.Pass(200 * time.Millisecond)
	calls(t, db, "first to notice", map[string]int{"TransactWriteItems": 2, "GetItem": 1, "UpdateItem": 1}, buys(first, userOf(0, "first")))
	calls(t, db, "noticed by others", map[string]int{"TransactWriteItems": 2, "GetItem": 1}, buys(late, userOf(0, "late")))
	w.Settled(2)
}

// Where reads are scarce somebody must write, but no environment six times.
func TestAnEmptyShardIsClosedByOneTryIfTheSaleCannotBeRead(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(6, 2)
	l := w.Knowing()
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
	calls(t, db, "who closes it", map[string]int{"GetItem": 1, "TransactWriteItems": 2, "UpdateItem": 1}, func() {
		w.Accepted(l.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(0, "alice")}))
	})
}

// leaps are changes of the wall clock while an environment does not run, or is frozen.
var leaps = map[string]time.Duration{"frozen for 20 minutes": 20 * time.Minute, "its wall clock has stepped back": -30 * time.Second}

// frozen runs a test over an environment that lives through a leap.
func frozen(t *testing.T, test func(t *testing.T, w *ledgertest.World, leap func())) {
	for name, d := range leaps {
		t.Run(name, func(t *testing.T) {
			w, _, _ := faulty(t)
			test(t, w, func() { w.Pass(d) })
		})
	}
}

// pauses pauses or resumes the sale in another environment, by the n-th edit, whatever the clock shows.
func pauses(w *ledgertest.World, n int, paused bool) {
	w.T.Helper()
	at := time.Unix(0, 0).Add(time.Duration(n) * time.Second)
	if _, err := w.Environment().Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: at, Paused: &paused}); err != nil {
		w.T.Fatal(err)
	}
}

func TestAnEnvironmentThatWasFrozenRefusesNothingByWhatItKnewBefore(t *testing.T) {
	elsewhere := func(w *ledgertest.World, user string) {
		w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user}))
	}
	creates := func(w *ledgertest.World) {
		c := w.Sale(1, 1)
		c.ClosesAt = w.Now().Add(2 * time.Hour)
		if _, err := w.Environment().Create(w.Ctx, c); err != nil {
			w.T.Fatal(err)
		}
	}
	for refusal, tt := range map[sale.Code]struct{ before, meanwhile func(*ledgertest.World) }{
		sale.SoldOut: {func(w *ledgertest.World) { creates(w); elsewhere(w, "alice") }, func(w *ledgertest.World) {
			if _, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
				w.T.Fatal(err)
			}
		}},
		sale.Paused:       {func(w *ledgertest.World) { creates(w); pauses(w, 1, true) }, func(w *ledgertest.World) { pauses(w, 2, false) }},
		sale.SaleNotFound: {func(*ledgertest.World) {}, creates},
	} {
		t.Run(string(refusal), func(t *testing.T) {
			frozen(t, func(t *testing.T, w *ledgertest.World, leap func()) {
				tt.before(w)
				for range 2 { // the second answer comes from memory
					_, err := w.Buy("bob")
					w.Refused(refusal, err)
				}
				leap()
				tt.meanwhile(w)
				w.Accepted(w.Buy("bob"))
			})
		})
	}
}
