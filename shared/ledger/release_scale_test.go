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

	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

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
	for value, name := range map[string]string{":pass": "releasing", ":next": "nextDue"} {
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
