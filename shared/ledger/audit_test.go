package ledger_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// crowd is the table of a sold-out sale with very many claims, generated when read:
// bucket b has users b-0, b-1, …, all confirmed.
type crowd struct {
	ledger.API // nothing else may be called
	began      time.Time
	shards     int
	perBucket  int
	perPage    int
	users      [][]string // by bucket
	pages      atomic.Int64
}

func newCrowd(shards, claims int) *crowd {
	c := &crowd{began: time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC), shards: shards, perPage: 5000}
	buckets := sale.BucketsFor(shards)
	c.perBucket = claims / buckets
	c.users = make([][]string, buckets)
	for i, full := 0, 0; full < buckets; i++ {
		user := strconv.Itoa(i)
		b := sale.BucketOf(user, buckets)
		if len(c.users[b]) == c.perBucket {
			continue
		}
		if c.users[b] = append(c.users[b], user); len(c.users[b]) == c.perBucket {
			full++
		}
	}
	return c
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func (c *crowd) id(bucket, i int) uint64 {
	id, err := orderid.New(c.began, uint64(bucket*c.perBucket+i+1))
	if err != nil {
		panic(err)
	}
	return id
}

func (c *crowd) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: map[string]types.AttributeValue{
		"pk": text("SALE#moutai"), "sk": text("SALE"), "name": text("Moutai"),
		"opensAt": number(c.began.UnixMilli()), "closesAt": number(c.began.Add(time.Hour).UnixMilli()),
		"paused": &types.AttributeValueMemberBOOL{}, "changedAt": number(0), "seeded": number(int64(c.perBucket * len(c.users))),
		"shards": number(int64(c.shards)), "buckets": number(int64(len(c.users))), "version": number(1), "state": text("OPEN"),
	}}, nil
}

func (c *crowd) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	keys := in.RequestItems[table].Keys
	if len(keys) > 100 {
		return nil, fmt.Errorf("%d keys", len(keys))
	}
	items := make([]map[string]types.AttributeValue, len(keys))
	for i, key := range keys {
		pk := key["pk"].(*types.AttributeValueMemberS).Value
		kind, rest, _ := strings.Cut(pk, "#")
		if kind == "STOCK" {
			// Claims are assigned to the shards round-robin.
			_, k, _ := strings.Cut(rest, "#")
			shard, _ := strconv.Atoi(k)
			total := c.perBucket * len(c.users)
			units := int64(sale.Share(int64(total), shard, c.shards))
			items[i] = map[string]types.AttributeValue{
				"pk": key["pk"], "sk": key["sk"], "stock": number(0), "seeded": number(units), "opensAt": number(0),
				"closesAt": number(0), "paused": &types.AttributeValueMemberBOOL{}, "changedAt": number(0),
			}
			continue
		}
		id, err := orderid.Parse(rest)
		if err != nil {
			return nil, err
		}
		n := int(orderid.Sequence(id)) - 1
		bucket, at := n/c.perBucket, n%c.perBucket
		items[i] = map[string]types.AttributeValue{
			"pk": key["pk"], "sk": key["sk"], "saleId": text("moutai"),
			"user": text(c.users[bucket][at]), "claimId": text("claim-" + strconv.Itoa(n)),
		}
	}
	return &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{table: items}}, nil
}

func (c *crowd) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	c.pages.Add(1)
	pk := in.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS).Value
	bucket, err := strconv.Atoi(pk[strings.LastIndex(pk, "#")+1:])
	if err != nil {
		return nil, err
	}
	from := 0
	if key := in.ExclusiveStartKey; key != nil {
		// The cursor is a user; here users are in the order of generation.
		after := key["sk"].(*types.AttributeValueMemberS).Value
		for c.users[bucket][from] != after {
			from++
		}
		from++
	}
	to := min(from+c.perPage, c.perBucket)
	if in.Limit != nil {
		to = min(to, from+int(*in.Limit))
	}
	out := &dynamodb.QueryOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(float64(to-from) * 150 / 4096)}}
	for i := from; i < to; i++ {
		n := bucket*c.perBucket + i
		out.Items = append(out.Items, map[string]types.AttributeValue{
			"pk": text(pk), "sk": text(c.users[bucket][i]), "claimId": text("claim-" + strconv.Itoa(n)),
			"shard": number(int64(n % c.shards)), "acceptedAt": number(c.began.UnixMilli()), "orderId": number(int64(c.id(bucket, i))),
		})
	}
	if to < c.perBucket {
		out.LastEvaluatedKey = map[string]types.AttributeValue{"pk": text(pk), "sk": text(c.users[bucket][to-1])}
	}
	return out, nil
}

func TestASaleOfAMillionClaimsIsAuditedPageByPage(t *testing.T) {
	const claims, shards = auditedClaims, 1000
	c := newCrowd(shards, claims)
	l := ledger.New(c, table, ledger.Options{Now: func() time.Time { return c.began.Add(time.Hour) }})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a := &ledger.Audit{SaleID: "moutai"}
	r, err := l.Step(t.Context(), a, func(sale.Claim) {})
	if err != nil || r == nil || !r.Balanced || r.Confirmed != claims || r.Missing != 0 {
		t.Fatalf("got %+v (%v)", r, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// A pass only stores its cursor, regardless of the number of claims.
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("the pass keeps %d bytes", grown)
	}
	t.Logf("%d claims in %d pages: %.0f read units", claims, c.pages.Load(), r.ReadUnits)
}

// One order of 100,000 is never paid, and never released. Only the first pass looks at every
// order.
func TestPassesOverAClosedSaleThatCannotBeDrainedReadOrdersOnce(t *testing.T) {
	const claims = 100_000
	c := newCrowd(100, claims)
	now := c.began.Add(time.Hour + ledger.DrainAfter)
	l := ledger.New(&unpaid{c}, table, ledger.Options{Now: func() time.Time { return now }})
	a := &ledger.Audit{SaleID: "moutai"}
	for pass, most := range []float64{1.1 * claims, 0.1 * claims, 0.1 * claims} {
		r, err := l.Step(t.Context(), a, func(sale.Claim) {})
		if err != nil || r == nil || !r.Balanced || r.Unpaid == 0 || r.Finished {
			t.Fatalf("got %+v (%v)", r, err)
		}
		if r.ReadUnits > most {
			t.Errorf("pass %d reads %.0f units, want at most %.0f", pass+1, r.ReadUnits, most)
		}
		t.Logf("pass %d over %d claims: %.0f read units", pass+1, claims, r.ReadUnits)
		a, now = a.Next(), now.Add(time.Minute)
	}
}

// unpaid is a crowd in a sale that asks for payment.
type unpaid struct{ *crowd }

func (u *unpaid) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := u.crowd.GetItem(ctx, in, o...)
	out.Item["payWithin"], out.Item["minReader"] = number(1800), number(2)
	return out, err
}

func (u *unpaid) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if in.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS).Value == "REFUND#moutai" {
		return &dynamodb.QueryOutput{}, nil
	}
	return u.crowd.Query(ctx, in, o...)
}
