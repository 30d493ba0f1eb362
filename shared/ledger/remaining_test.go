package ledger_test

import (
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestKeysThatStayUnprocessedAreAskedForSixTimesWithPauses(t *testing.T) {
	for unprocessed, want := range map[int]struct {
		calls int
		code  sale.Code
	}{0: {1, ""}, 1: {2, ""}, 5: {6, ""}, 6: {6, sale.Busy}, 9: {6, sale.Busy}} {
		synctest.Test(t, func(t *testing.T) {
			w, db, _ := faulty(t)
			w.Open(10, 10)
			s, err := w.Ledger.Sale(w.Ctx, "moutai")
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			db.Fault = dynamotest.On("BatchGetItem", "", func(c dynamotest.Call) dynamotest.Fault {
				if calls++; calls <= unprocessed {
					all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
					return dynamotest.Fault{Kind: dynamotest.Unprocessed, Items: all[:len(c.Keys)-1]} // each call reads one key
				}
				return dynamotest.Fault{}
			})
			start := time.Now()
			_, err = w.Ledger.Remaining(w.Ctx, s)
			if sale.CodeOf(err) != want.code || calls != want.calls || (time.Since(start) > 0) != (want.calls > 1) {
				t.Errorf("unprocessed %d times: %v after %d calls and %v, want %q after %d", unprocessed, err, calls, time.Since(start), want.code, want.calls)
			}
		})
	}
}

func TestRemainingUnitsAreCountedOnceAMinuteBeforeTheSaleOpensAndAfterItHasClosed(t *testing.T) {
	w, db, _ := faulty(t)
	c := w.Sale(10, 4)
	c.OpensAt = w.Now().Add(100 * time.Second)
	w.Create(c)
	count := func(when string, want int64, units float64) {
		t.Helper()
		s := w.Current()
		db.ResetUsage()
		r, err := w.Ledger.Remaining(w.Ctx, s)
		if _, reads := db.Consumed(); err != nil || r.Units != want || reads != units {
			t.Errorf("%s: %+v (%v) for %v read units, want %d for %v", when, r, err, reads, want, units)
		}
	}
	count("a version that is new", 10, 4)
	w.Pass(ledger.SettleTime - 1)
	count("not yet known for long enough", 10, 4)
	w.Pass(time.Second)
	count("not open", 10, 4)
	w.Pass(time.Minute - 1)
	count("not open, before a minute has passed", 10, 0)
	w.Pass(1)
	count("not open, a minute later", 10, 4)
	w.Add("s", 4)
	count("not open, restocked", 14, 4)
	w.Pass(ledger.SettleTime)
	count("not open, restocked a while ago", 14, 4)
	w.Pass(c.OpensAt.Sub(w.Now()) - 1)
	count("not open for a nanosecond more", 14, 0)
	w.Pass(1)
	count("open", 14, 2)
	w.Accepted(w.Buy("alice"))
	w.Pass(time.Second)
	count("open, a second later", 13, 2)
	if _, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: new(true)}); err != nil {
		t.Fatal(err)
	}
	count("paused", 13, 2)
	w.Pass(time.Second)
	count("paused, a second later", 13, 2)
	w.Pass(c.ClosesAt.Sub(w.Now()))
	count("closed", 13, 4)
	w.Pass(time.Minute - 1)
	count("closed, before a minute has passed", 13, 0)
}

func TestShardsThatACountFindsEmptyAreNotReadAgainUntilARestock(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(2, 2)
	for k := range 2 {
		w.Accepted(w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: userOf(k, "first")}))
	}
	ask := func(when string, want int64, shards, sales int) {
		t.Helper()
		db.ResetUsage()
		s, err := w.Ledger.Sale(w.Ctx, "moutai")
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.Ledger.Remaining(w.Ctx, s)
		if got := db.Calls(); err != nil || r.Units != want || got["BatchGetItem"] != shards || got["GetItem"] != sales {
			t.Errorf("%s: %+v (%v) after %v, want %d after %d reads of shards and %d of the sale", when, r, err, got, want, shards, sales)
		}
	}
	ask("at first", 0, 2, 2) // eventually consistently, then consistently
	w.Pass(ledger.SettleTime)
	ask("when nothing of the version can be hidden any more", 0, 2, 2)
	w.Pass(time.Second)
	ask("a second later", 0, 0, 0)
	w.Pass(time.Second)
	ask("when the sale is to be read again", 0, 0, 1)
	w.Add("s", 1)
	w.Pass(1900 * time.Millisecond)
	ask("restocked", 1, 1, 1)
}
