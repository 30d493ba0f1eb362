package ledger_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/dynamotest"
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
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op == "GetItem" {
			return dynamotest.Fault{Kind: dynamotest.ServerError}
		}
		return dynamotest.Fault{}
	}
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
	if _, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
		t.Fatal(err)
	}
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
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op == "GetItem" {
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	}
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
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "GetItem" && strings.HasPrefix(c.Keys[0], "CLAIM#") {
				w.Pass(took)
			}
			return dynamotest.Fault{}
		}
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
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op == "GetItem" {
			reads++
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	}
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
	db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op == "GetItem" {
			return dynamotest.Fault{Kind: dynamotest.Throttle}
		}
		return dynamotest.Fault{}
	}
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
		if _, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
			t.Fatal(err)
		}
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
