package ledger_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// releaseSteps is a sale whose orders have different payBys, in ten buckets, and the passes
// over it, all in one environment, as Lambda usually has them. Instants are in whole minutes
// since the opening.
type releaseSteps struct {
	*ledgertest.World
	db   *dynamotest.DB
	warm *ledger.Ledger
	// orders are the users by bucket and minute.
	orders map[string]string
}

// at lets time pass until that minute.
func (r *releaseSteps) at(minute int) {
	r.Pass(time.Duration(minute)*time.Minute - r.Now().Sub(ledgertest.Start))
}

// order confirms an order in that bucket.
func (r *releaseSteps) order(minute, bucket int) {
	r.at(minute)
	name := fmt.Sprintf("bucket %d at %d", bucket, minute)
	for n := 0; ; n++ {
		if user := fmt.Sprintf("user-%d-%d", minute, n); sale.BucketOf(user, 10) == bucket {
			r.Ordered(user)
			r.orders[user] = name
			return
		}
	}
}

// pass runs until the pass is complete, or is cut off behind bucket 4.
func (r *releaseSteps) pass(minute int, cut bool) {
	r.T.Helper()
	r.at(minute)
	r.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if cut && c.Op == "Query" && c.Keys[0] >= "CLAIM#moutai#5" && strings.HasPrefix(c.Keys[0], "CLAIM#") {
			return dynamotest.Fault{Delay: time.Hour}
		}
		return dynamotest.Fault{}
	}
	defer func() { r.db.Fault = nil }()
	ctx, cancel := context.WithTimeout(r.Ctx, 10*time.Second)
	defer cancel()
	if done, err := r.warm.ReleaseDue(ctx, r.Listing(), grace); cut && sale.CodeOf(err) != sale.Busy || !cut && err != nil || cut == done.Complete {
		r.T.Fatalf("minute %d, cut off %t: got %+v (%v)", minute, cut, done, err)
	}
}

func (r *releaseSteps) edit(minute int, paused bool) {
	r.at(minute)
	if _, err := r.Environment().Edit(r.Ctx, sale.Edit{SaleID: "moutai", Paused: &paused}); err != nil {
		r.T.Fatal(err)
	}
}

// Claims are released by the first pass, whole or resumed, that reads them once they are
// due: payWithin is 30 minutes and the grace two.
func TestAPassThatIsResumedReleasesEachClaimInItsTime(t *testing.T) {
	for name, tt := range map[string]struct {
		steps func(*releaseSteps)
		until int            // a pass is made each minute behind the steps until this one
		want  map[string]int // the minute of the release
	}{
		"the earliest claim was read before the cut": {func(r *releaseSteps) {
			r.order(0, 0)
			r.order(20, 9)
			r.pass(21, true)
			r.pass(22, false)
		}, 53, map[string]int{"bucket 0 at 0": 32, "bucket 9 at 20": 52}},
		"the earliest claim was read after the cut": {func(r *releaseSteps) {
			r.order(0, 9)
			r.order(20, 0)
			r.pass(21, true)
			r.pass(22, false)
		}, 53, map[string]int{"bucket 9 at 0": 32, "bucket 0 at 20": 52}},
		"two claims after the cut": {func(r *releaseSteps) {
			r.pass(0, true)
			r.order(1, 8)
			r.order(9, 7)
			r.pass(10, false)
		}, 42, map[string]int{"bucket 8 at 1": 33, "bucket 7 at 9": 41}},
		"an order behind the cursor, resumed late": {func(r *releaseSteps) {
			r.pass(0, true)
			r.order(1, 0)
			r.pass(20, false)
		}, 34, map[string]int{"bucket 0 at 1": 33}},
		"a claim that becomes due between the two parts": {func(r *releaseSteps) {
			r.order(0, 9)
			r.pass(1, true)
			r.pass(40, false)
		}, 40, map[string]int{"bucket 9 at 0": 40}},
		"the sale was paused when it was last read without a claim due": {func(r *releaseSteps) {
			r.order(0, 0)
			r.order(1, 9)
			r.pass(2, false)
			r.edit(3, true)
			r.pass(4, false)
			r.edit(5, false)
			r.pass(34, true)
			r.pass(35, false)
		}, 35, map[string]int{"bucket 0 at 0": 34, "bucket 9 at 1": 35}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				w.OpenUnpaid(40, 40)
				r := &releaseSteps{World: w, db: db, warm: w.Environment(), orders: map[string]string{}}
				tt.steps(r)
				for minute := int(w.Now().Sub(ledgertest.Start)/time.Minute) + 1; minute <= tt.until; minute++ {
					r.pass(minute, false)
				}
				got := map[string]int{}
				for user, order := range r.orders {
					c, err := w.Environment().Claim(w.Ctx, "moutai", user)
					if err != nil {
						t.Fatal(err)
					}
					if c.State() == sale.Expired {
						got[order] = int(c.ReleasedAt.Sub(ledgertest.Start) / time.Minute)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("minutes of the releases (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A pass reads many buckets at once, and need not come to the end of them in their order.
func TestAPassThatIsResumedReadsNoPageTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.OpenUnpaid(40, 40)
		r := &releaseSteps{World: w, db: db, warm: w.Environment(), orders: map[string]string{}}
		for bucket := range 10 {
			r.order(0, bucket)
			r.order(1, bucket)
		}
		r.at(40)
		db.PageBytes = 1  // a claim
		var mu sync.Mutex // buckets are read side by side
		pages, hangs := map[string]int{}, true
		db.Fault = dynamotest.On("Query", "CLAIM#", func(c dynamotest.Call) dynamotest.Fault {
			mu.Lock()
			defer mu.Unlock()
			b := strings.TrimPrefix(c.Keys[0], "CLAIM#moutai#")
			if hangs && (b == "0" || b == "3" && pages[b] == 1 || b == "9") {
				return dynamotest.Fault{Delay: time.Hour}
			}
			pages[b]++
			return dynamotest.Fault{}
		})
		for _, released := range []int{15, 5} {
			ctx, cancel := context.WithTimeout(r.Ctx, 10*time.Second)
			done, err := r.warm.ReleaseDue(ctx, r.Listing(), grace)
			if cancel(); done.Released != released {
				t.Errorf("got %+v (%v), want %d released", done, err, released)
			}
			if at := r.Listing().Releasing; at != nil && at.Bucket != 0 {
				t.Errorf("got %+v, with which an earlier release leaves out bucket 0", at)
			}
			hangs = false
		}
		for bucket, n := range pages {
			if n > 3 { // two claims, and none
				t.Errorf("bucket %s: got %d pages, want no more than 3", bucket, n)
			}
		}
	})
}

// Of many shards there is always one that a cancellation writes just now.
func TestUnitsThatCannotBePutBackTogetherArePutBackShardByShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.OpenUnpaid(4, 4)
		w.Ordered("alice", "bob", "carol", "dave")
		w.Cancels("alice", "bob", "carol", "dave")
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "TransactWriteItems" && len(c.Keys) > 2 {
				return dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{0}}
			}
			return dynamotest.Fault{}
		}
		ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
		defer cancel()
		if done, err := w.Environment().ReleaseDue(ctx, w.Listing(), grace); done.PutBack != 4 {
			t.Errorf("got %+v (%v), want 4 units put back", done, err)
		}
	})
}
