package ledger_test

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func TestAPaymentOfAnOrderWhoseSaleIsGoneFails(t *testing.T) {
	w, db, _ := faulty(t)
	w.OpenUnpaid(5, 1)
	id := w.Ordered("alice")[0]
	remove(t, db, "SALE#moutai", "SALE")
	_, err := w.Environment().Pay(w.Ctx, ledgertest.PaymentOf(id, "pi_1"))
	w.Refused(sale.Internal, err)
}

// What was read before the table was busy is released; a table that is busy from the start
// ends the call, because the next one comes within a minute.
func TestAPassThatTheBusyTableStops(t *testing.T) {
	for name, readable := range map[string]int{"from its first page on": 0, "after a page": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				w.OpenUnpaid(60, 1)
				for i := range 30 {
					w.Ordered(fmt.Sprint("user-", i))
				}
				w.Pass(payWithin + grace)
				db.PageBytes = 1000
				pages := 0
				db.Fault = dynamotest.On("Query", "", func(dynamotest.Call) dynamotest.Fault {
					if pages++; pages <= readable {
						return dynamotest.Fault{}
					}
					return dynamotest.Fault{Kind: dynamotest.Throttle}
				})
				ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
				defer cancel()
				listing := w.Listing()
				done, err := w.Environment().ReleaseDue(ctx, listing, grace)
				if w.Refused(sale.Busy, err); (done.Released > 0) != (readable > 0) || done.Complete || ctx.Err() != nil {
					t.Errorf("got %+v (%v)", done, ctx.Err())
				}
			})
		})
	}
}

func TestAUnitThatTheBusyTableDoesNotTakeBackIsPutBackLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, next := faulty(t)
		w.OpenUnpaid(1, 1)
		w.Ordered("alice")
		w.Cancels("alice")
		next(times(1000, dynamotest.Fault{Kind: dynamotest.Throttle})...)
		done, err := lateRelease(w, w.Environment())
		if w.Refused(sale.Busy, err); done.PutBack != 0 || done.Complete {
			t.Errorf("got %+v", done)
		}
		db.Fault = nil
		if done, err := lateRelease(w, w.Environment()); err != nil || done.PutBack != 1 || !done.Complete {
			t.Errorf("got %+v (%v), want the unit put back", done, err)
		}
	})
}

// A cursor that the busy table does not take costs the next call reads. Any other failure to
// store it is one of the pass.
func TestAPassThatCannotStoreItsCursor(t *testing.T) {
	for name, tt := range map[string]struct {
		fault dynamotest.Fault
		gone  bool
		want  sale.Code
	}{
		"the table is busy":   {dynamotest.Fault{Kind: dynamotest.Throttle}, false, ""},
		"the listing is gone": {dynamotest.Fault{}, true, sale.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				w.OpenUnpaid(200, 80)
				w.Ordered("alice")
				w.Pass(payWithin + grace)
				listing := w.Listing()
				if tt.gone {
					remove(t, db, "SALES", "moutai")
				}
				stores := 0
				db.Fault = func(c dynamotest.Call) dynamotest.Fault {
					switch c.Op {
					case "Query":
						return dynamotest.Fault{Delay: 300 * time.Millisecond}
					case "UpdateItem":
						stores++
						return tt.fault
					}
					return dynamotest.Fault{}
				}
				ctx, cancel := context.WithTimeout(w.Ctx, 4*time.Second)
				defer cancel()
				if done, err := w.Environment().ReleaseDue(ctx, listing, grace); done.Complete || stores == 0 || (err == nil) != (tt.want == "") || err != nil && sale.CodeOf(err) != tt.want {
					t.Errorf("%d tries to store it, got %+v (%v)", stores, done, err)
				}
			})
		})
	}
}

var dueClaims = flag.Int("dues", 100_000, "how many claims are due in the largest sale of which they are released")

const (
	// What a call takes, in virtual time: a page of a megabyte, a transaction of 26
	// items, anything else.
	pageTakes, transactionTakes, callTakes = 150 * time.Millisecond, 40 * time.Millisecond, 10 * time.Millisecond
	// passTime is what an invocation has: ReleaseFunction's timeout.
	passTime = 2 * time.Minute
)

// debtors are a crowd that has not paid.
type debtors struct {
	*crowd
	mu                sync.Mutex
	released, putBack []int64 // by shard
	gone              map[string]bool
	listing           map[string]types.AttributeValue
	calls, writes     int // write units
	reads             float64
}

func newDebtors(shards, claims int) *debtors {
	d := &debtors{crowd: newCrowd(shards, claims), released: make([]int64, shards), putBack: make([]int64, shards), gone: map[string]bool{}}
	d.listing = map[string]types.AttributeValue{
		"pk": text("SALES"), "sk": text("moutai"), "closesAt": number(0), "payWithin": number(1800), "minReader": number(2),
	}
	return d
}

// takes waits for a call's end, or fails when its caller gives up.
func (d *debtors) takes(ctx context.Context, t time.Duration, writes int) error {
	select {
	case <-time.After(t):
	case <-ctx.Done():
		return ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.writes += writes
	return nil
}

func (d *debtors) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := d.takes(ctx, callTakes, 0); err != nil {
		return nil, err
	}
	if in.Key["pk"].(*types.AttributeValueMemberS).Value == "SALES" {
		return &dynamodb.GetItemOutput{Item: d.listing}, nil
	}
	out, err := d.crowd.GetItem(ctx, in, o...)
	out.Item["payWithin"], out.Item["minReader"] = number(1800), number(2)
	return out, err
}

func (d *debtors) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if err := d.takes(ctx, callTakes, 0); err != nil {
		return nil, err
	}
	out, err := d.crowd.BatchGetItem(ctx, in, o...)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, it := range out.Responses[table] {
		k := d.shardOf(it)
		it["released"], it["putBack"], it["stock"] = number(d.released[k]), number(d.putBack[k]), number(d.putBack[k])
		d.reads++
	}
	return out, err
}

func (d *debtors) shardOf(key map[string]types.AttributeValue) int {
	pk := key["pk"].(*types.AttributeValueMemberS).Value
	k, _ := strconv.Atoi(pk[strings.LastIndexByte(pk, '#')+1:])
	return k
}

func (d *debtors) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := d.takes(ctx, pageTakes, 0); err != nil {
		return nil, err
	}
	out, err := d.crowd.Query(ctx, in, o...)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, it := range out.Items {
		if d.gone[it["sk"].(*types.AttributeValueMemberS).Value] {
			it["releasedAt"], it["releasedBy"] = number(1), text("expiry")
		}
	}
	d.reads += *out.ConsumedCapacity.CapacityUnits
	return out, err
}

func (d *debtors) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := d.takes(ctx, callTakes, 1); err != nil {
		return nil, err
	}
	for value, name := range map[string]string{":releasing": "releasing", ":next": "nextDue"} {
		if v := in.ExpressionAttributeValues[value]; v != nil {
			d.listing[name] = v
		}
	}
	return &dynamodb.UpdateItemOutput{}, nil
}

func (d *debtors) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := d.takes(ctx, transactionTakes, 2*len(in.TransactItems)); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	first := in.TransactItems[0].Update
	k := d.shardOf(first.Key)
	if first.ExpressionAttributeValues[":r"] != nil {
		d.putBack[k] = d.released[k]
		return &dynamodb.TransactWriteItemsOutput{}, nil
	}
	for _, action := range in.TransactItems[1:] {
		d.gone[action.Update.Key["sk"].(*types.AttributeValueMemberS).Value] = true
	}
	d.released[k] += int64(len(in.TransactItems) - 1)
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// Passes over a sale whose claims all expire at once: 100,000 are released and put back
// within three minutes of being due, and larger sales at 1,000 a second or more (P22). Each
// transaction writes a shard, so a sale with fewer than four shards is slower.
func TestReleasingManyClaimsTakesMinutes(t *testing.T) {
	for _, size := range []struct{ claims, shards int }{{1000, 50}, {*dueClaims, 1000}, {*dueClaims, 4}} {
		t.Run(fmt.Sprint(size.claims), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDebtors(size.shards, size.claims)
				claims := int64(d.perBucket * len(d.users))
				due := orderid.Time(d.id(0, 0)).Add(payWithin + grace)
				time.Sleep(time.Until(due))
				l := ledger.New(d, table, ledger.Options{Now: func() time.Time { return time.Now().Round(0) }})
				for invocations := 1; ; invocations++ {
					ctx, cancel := context.WithTimeout(t.Context(), passTime)
					listing, err := l.Listing(ctx, "moutai")
					if err != nil {
						t.Fatal(err)
					}
					done, err := l.ReleaseDue(ctx, listing, grace)
					cancel()
					if err != nil && sale.CodeOf(err) != sale.Busy {
						t.Fatal(err)
					}
					if done.Complete {
						break
					}
					if invocations == 10 {
						t.Fatalf("not complete after %d invocations: %+v", invocations, done)
					}
					time.Sleep(time.Minute - time.Since(due)%time.Minute) // the schedule
				}
				// A pass begins up to a minute after the claims are due.
				took := time.Since(due) + time.Minute
				var released, putBack int64
				for k := range d.released {
					released, putBack = released+d.released[k], putBack+d.putBack[k]
				}
				if released != claims || putBack != claims {
					t.Errorf("%d of %d claims are released, %d units put back", released, claims, putBack)
				}
				if limit := max(3*time.Minute, time.Duration(claims)*time.Millisecond); took > limit {
					t.Errorf("that took %v, want at most %v", took, limit)
				}
				t.Logf("%d claims on %d shards: %v after a pass began, %d calls, %.0f read units, %d write units",
					claims, size.shards, (took - time.Minute).Round(time.Millisecond), d.calls, d.reads, d.writes)
			})
		})
	}
}

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
	if done, err := lateReleaseWithin(ctx, r.World, r.warm); cut && sale.CodeOf(err) != sale.Busy || !cut && err != nil || cut == done.Complete {
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
