package ledger_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

var dueClaims = flag.Int("dues", 20_000, "how many claims are due in the largest sale of which they are released")

const (
	// What a call takes, in virtual time: a page of a megabyte, a transaction of up to 26
	// items and of more, anything else.
	pageTakes, transactionTakes, callTakes = 150 * time.Millisecond, 40 * time.Millisecond, 10 * time.Millisecond
	// passTime is what an invocation has: ReleaseFunction's timeout.
	passTime = 2 * time.Minute
)

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }

// crowd is a sale that is sold out, with very many confirmed claims, all of one instant. Every other order is paid, if
// paid says so.
type crowd struct {
	*dynamotest.DB
	ledger *ledger.Ledger
	at     time.Time // of the orders
	claims int

	mu             sync.Mutex
	inFlight, most int // write units of transactions
}

// weigh counts what is in flight while a transaction lasts.
func (c *crowd) weigh(_ string, in any, call func() (any, error)) (any, error) {
	if in, ok := in.(*dynamodb.TransactWriteItemsInput); ok {
		add := func(units int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.inFlight += units
			c.most = max(c.most, c.inFlight)
		}
		add(2 * len(in.TransactItems))
		defer add(-2 * len(in.TransactItems))
	}
	return call()
}

func newCrowd(t *testing.T, shards, claims int, paid bool) *crowd {
	t.Helper()
	time.Sleep(time.Until(time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC))) // order ids have no earlier years
	c := &crowd{DB: newDB(), at: time.Now(), claims: claims}
	c.ledger = ledger.New(dynamotest.WithHook(c.DB, c.weigh), table, ledger.Options{Now: func() time.Time { return time.Now().Round(0) }})
	s := sale.Creation{SaleID: "moutai", Stock: int64(claims), Shards: shards, OpensAt: c.at, ClosesAt: c.at.Add(time.Hour), PayWithin: payWithin}
	if _, err := c.ledger.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	at := number(c.at.UnixMilli())
	for i := range claims {
		user := fmt.Sprint(i)
		id, err := orderid.New(c.at, uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		it := map[string]types.AttributeValue{
			"pk": text(fmt.Sprint("CLAIM#moutai#", sale.BucketOf(user, sale.BucketsFor(shards)))), "sk": text(user),
			"claimId": text("claim-" + user), "shard": number(int64(i % shards)), "acceptedAt": at, "orderId": number(int64(id)),
		}
		if paid && i/shards%2 == 0 {
			it["paidAt"], it["payment"], it["amount"], it["currency"] = at, text("stripe#"+user), number(89900), text("CNY")
		}
		if _, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	for k := range shards {
		if err := c.Tamper(t.Context(), table, fmt.Sprint("STOCK#moutai#", k), "STOCK", "stock", -sale.Share(int64(claims), k, shards)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// slow lets the calls of the table take their time.
func (c *crowd) slow() {
	c.ResetUsage()
	c.Fault = func(call dynamotest.Call) dynamotest.Fault {
		switch takes := transactionTakes; {
		case call.Op == "Query":
			return dynamotest.Fault{Delay: pageTakes}
		case call.Op != "TransactWriteItems":
			return dynamotest.Fault{Delay: callTakes}
		case len(call.Keys) > 26:
			return dynamotest.Fault{Delay: 2 * takes}
		default:
			return dynamotest.Fault{Delay: takes}
		}
	}
}

// releases makes passes on the schedule, from a minute after that instant on, until one is complete. It returns how long that took.
func (c *crowd) releases(t *testing.T, since time.Time) time.Duration {
	t.Helper()
	time.Sleep(time.Until(since.Add(time.Minute)))
	c.slow()
	for invocations := 1; ; invocations++ {
		ctx, cancel := context.WithTimeout(t.Context(), passTime)
		listing, err := c.ledger.Listing(ctx, "moutai")
		if err != nil {
			t.Fatal(err)
		}
		done, err := c.ledger.ReleaseDue(ctx, listing, grace)
		cancel()
		if err != nil && sale.CodeOf(err) != sale.Busy || invocations == 10 {
			t.Fatalf("invocation %d: %+v (%v)", invocations, done, err)
		}
		if done.Complete {
			writes, reads := c.Consumed()
			t.Logf("%d claims: %v since they were due, %v, %.0f read units, %.0f write units, %d at once", c.claims, time.Since(since).Round(time.Millisecond), c.Calls(), reads, writes, c.most)
			if c.most > 1600 {
				t.Errorf("%d write units at once, want at most 1600", c.most)
			}
			return time.Since(since)
		}
		time.Sleep(time.Minute - time.Since(since)%time.Minute)
	}
}

// audited is the receipt of a pass, whose calls take no time.
func (c *crowd) audited(t *testing.T) *ledger.Receipt {
	t.Helper()
	c.Fault = nil
	r, err := c.ledger.Step(t.Context(), &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	if err != nil || r == nil || !r.Balanced {
		t.Fatalf("got %+v (%v)", r, err)
	}
	return r
}

// Passes over a sale whose claims all expire at once: 100,000 are released and put back
// within three minutes of being due, and larger sales at 1,000 a second or more (P22). Each
// transaction writes a shard, so a sale with fewer than four shards is slower.
func TestReleasingManyClaimsTakesMinutes(t *testing.T) {
	for _, size := range []struct{ claims, shards int }{{1000, 50}, {*dueClaims, 1000}, {*dueClaims, 4}} {
		t.Run(fmt.Sprint(size.claims, " on ", size.shards), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, size.shards, size.claims, false)
				took := c.releases(t, c.at.Add(payWithin+grace))
				if r := c.audited(t); r.Released != int64(size.claims) || r.Stock != int64(size.claims) {
					t.Errorf("%d of %d claims are released, %d units put back", r.Released, size.claims, r.Stock)
				}
				if limit := max(3*time.Minute, time.Duration(size.claims)*time.Millisecond); took > limit {
					t.Errorf("that took %v, want at most %v", took, limit)
				}
			})
		})
	}
}

// A recall is complete five minutes per 100,000 orders after it, also on a single shard, whose
// releases wait for one another (P35). Half of the orders are paid.
func TestARecallOfManyOrdersTakesMinutes(t *testing.T) {
	for _, size := range []struct{ claims, shards int }{{1000, 50}, {*dueClaims, 1000}, {*dueClaims, 1}} {
		t.Run(fmt.Sprint(size.claims, " on ", size.shards), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, size.shards, size.claims, true)
				if _, err := c.ledger.Recall(t.Context(), sale.Recall{SaleID: "moutai"}); err != nil {
					t.Fatal(err)
				}
				took := c.releases(t, time.Now())
				r := c.audited(t)
				if r.Released+r.Paid != int64(size.claims) || r.Stock != r.Released || int64(r.RefundsDue) != r.Paid || r.Unpaid != 0 {
					t.Errorf("got %+v, want every order of %d released or refunded", r, size.claims)
				}
				if limit := 5 * time.Minute; took > limit {
					t.Errorf("that took %v, want at most %v", took, limit)
				}
			})
		})
	}
}
