package ledger_test

import (
	"fmt"
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

func TestAnAuditOfManyShardsNeedsEachBatchOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.Open(300, 201)
		for _, shard := range []int{0, 100, 200} {
			db.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("BatchGetItem", fmt.Sprintf("STOCK#moutai#%d|", shard))
			_, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
			w.Refused(sale.Busy, err)
		}
		db.Fault = nil
		if r, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {}); err != nil || !r.Balanced || r.Stock != 300 {
			t.Errorf("got %+v (%v), want 300 units", r, err)
		}
	})
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
	paused := true
	if _, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: &paused}); err != nil {
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

func TestHalfOfAnAdditionMakesNothingSoldOutAndIsNotKeptForAMinute(t *testing.T) {
	for _, sells := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w, _, next := faulty(t)
			c := w.Open(1, 1)
			w.Accepted(w.Buy("alice"))
			if !sells {
				w.Pass(c.ClosesAt.Sub(w.Now()))
			}
			const hidden = 30 * time.Millisecond
			// The addition's note in the trail comes first.
			next(dynamotest.Fault{}, dynamotest.Fault{Hidden: []int{1}, HiddenFor: hidden, ReplyDelay: hidden})
			added := make(chan error)
			go func() {
				_, err := w.Environment().Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 3})
				added <- err
			}()
			synctest.Wait()
			page := w.Environment()
			show := func(when string, units int64, soldOut bool) {
				t.Helper()
				s, err := page.Sale(w.Ctx, "moutai")
				if err != nil {
					t.Fatal(err)
				}
				r, err := page.Remaining(w.Ctx, s)
				if s, _ = page.Sale(w.Ctx, "moutai"); err != nil || s.Version != 2 || r.Units != units || s.SoldOut() != soldOut {
					t.Errorf("sells: %t, %s: %d units (%v) of version %d, sold out: %t; want %d, %t", sells, when, r.Units, err, s.Version, s.SoldOut(), units, soldOut)
				}
			}
			show("while the shard's half is hidden", 0, false)
			if err := <-added; err != nil {
				t.Fatal(err)
			}
			w.Pass(time.Second)
			show("a second after the addition was answered", 3, false)
		})
	}
}

func TestACountThatFindsNothingIsMadeConsistently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.Open(2, 2)
		for i := range 2 {
			w.Accepted(w.Buy(fmt.Sprint("user-", i)))
		}
		db.Lag = 10 * time.Second
		time.Sleep(2 * db.Lag) // reads see that the shards are empty
		w.Add("s", 1)
		s := w.Current()
		if r, err := w.Ledger.Remaining(w.Ctx, s); err != nil || r.Units != 1 {
			t.Errorf("got %+v (%v), want 1 unit", r, err)
		}
	})
}
