package books

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var manyClaims = flag.Int("claims", 50_000, "how many claims the sale of the scale test has")

// crowd is the table of a sold-out sale of very many claims, made up while it is read: bucket b holds users[b], all
// confirmed and, if the sale asks for that, paid.
type crowd struct {
	asks    bool
	began   time.Time
	shards  int
	users   [][]int32 // by bucket
	perPage int
	onPage  func()
}

func newCrowd(shards, claims int) *crowd {
	c := &crowd{began: time.Date(2026, 11, 11, 20, 0, 0, 0, time.UTC), shards: shards, perPage: 5000, onPage: func() {}}
	c.users = make([][]int32, (shards+3)/4)
	for i := range int32(claims) {
		b := bucketOf(strconv.Itoa(int(i)), len(c.users))
		c.users[b] = append(c.users[b], i)
	}
	return c
}

func (c *crowd) claims() (n int64) {
	for _, users := range c.users {
		n += int64(len(users))
	}
	return n
}

func (c *crowd) number(n int64) types.AttributeValue { return number(strconv.FormatInt(n, 10)) }

func (c *crowd) orderID(user int64) int64 { return (c.began.Unix()-orderEpoch.Unix())<<32 | (user + 1) }

// sold is the number of claims of shard k: claims are assigned round-robin.
func (c *crowd) sold(k int) int64 { return share(c.claims(), k, c.shards) }

func (c *crowd) window(it item) item {
	it["opensAt"], it["closesAt"] = c.number(c.began.UnixMilli()), c.number(c.began.Add(time.Hour).UnixMilli())
	return it
}

// forPayment adds attributes that are there if the sale asks for payment.
func (c *crowd) forPayment(it, more item) item {
	if c.asks {
		maps.Copy(it, more)
	}
	return it
}

func (c *crowd) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	pk := in.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS).Value
	if pk == "SALE#moutai" {
		return &dynamodb.QueryOutput{Items: []item{
			c.forPayment(c.window(item{"pk": text(pk), "sk": text("CREATE"), "name": text("m"), "stock": c.number(c.claims()), "shards": c.number(int64(c.shards))}),
				item{"payWithin": number("1800")}),
			c.forPayment(c.window(item{"pk": text(pk), "sk": text("SALE"), "name": text("m"), "paused": &types.AttributeValueMemberBOOL{}, "changedAt": number("0"),
				"seeded": c.number(c.claims()), "shards": c.number(int64(c.shards)), "buckets": c.number(int64(len(c.users))), "version": number("1"), "state": text("OPEN")}),
				item{"payWithin": number("1800"), "minReader": number("2")}),
		}}, nil
	}
	bucket, _ := strconv.Atoi(pk[strings.LastIndexByte(pk, '#')+1:])
	if bucket >= len(c.users) || !strings.HasPrefix(pk, "CLAIM#") {
		return &dynamodb.QueryOutput{}, nil
	}
	from := 0
	if at, ok := in.ExclusiveStartKey["at"].(*types.AttributeValueMemberN); ok {
		from, _ = strconv.Atoi(at.Value)
	}
	to := min(from+c.perPage, len(c.users[bucket]))
	out := &dynamodb.QueryOutput{Items: make([]item, 0, to-from), ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(float64(to-from) * 150 / 4096)}}
	for _, u := range c.users[bucket][from:to] {
		user := int64(u)
		out.Items = append(out.Items, c.forPayment(item{
			"pk": text(pk), "sk": text(strconv.FormatInt(user, 10)), "claimId": text("claim-" + strconv.FormatInt(user, 10)),
			"shard": c.number(user % int64(c.shards)), "acceptedAt": c.number(c.began.UnixMilli()), "orderId": c.number(c.orderID(user)),
		}, item{"paidAt": c.number(c.began.UnixMilli()), "payment": text("stripe#" + strconv.FormatInt(user, 10)), "minReader": number("2")}))
	}
	if to < len(c.users[bucket]) {
		out.LastEvaluatedKey = item{"at": number(strconv.Itoa(to))}
	}
	c.onPage()
	return out, nil
}

func (c *crowd) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	keys := in.RequestItems[tableName].Keys
	if len(keys) > 100 {
		return nil, fmt.Errorf("%d keys", len(keys))
	}
	var items []item
	for _, at := range keys {
		kind, rest, _ := cutKind(keyOf(at).pk)
		it := item{"pk": at["pk"], "sk": at["sk"]}
		switch kind {
		case "SALE":
			header, err := c.Query(ctx, &dynamodb.QueryInput{ExpressionAttributeValues: item{":pk": at["pk"]}})
			if err != nil {
				return nil, err
			}
			it = header.Items[1]
		case "SALES":
			it["closesAt"] = c.number(c.began.Add(time.Hour).UnixMilli())
			c.forPayment(it, item{"payWithin": number("1800"), "minReader": number("2")})
		case "SEQ":
			it["next"] = c.number(c.claims())
		case "STOCK":
			_, k, _ := cutNumber(rest)
			if k >= c.shards {
				continue
			}
			it["stock"], it["seeded"], it["paused"], it["changedAt"] = number("0"), c.number(c.sold(k)), &types.AttributeValueMemberBOOL{}, number("0")
			c.forPayment(c.window(it), item{"released": number("0"), "putBack": number("0")})
		case "PAYMENT":
			user, _ := strconv.ParseInt(strings.TrimPrefix(rest, "stripe#"), 10, 64)
			it["fate"], it["saleId"], it["orderId"] = text("paid"), text("moutai"), c.number(c.orderID(user))
			it["amount"], it["currency"], it["at"] = number("1"), text("CNY"), c.number(c.began.UnixMilli())
		case "ORDER":
			id, _ := strconv.ParseUint(rest, 10, 63)
			user := strconv.FormatInt(numberOf(id)-1, 10)
			it["saleId"], it["user"], it["claimId"] = text("moutai"), text(user), text("claim-"+user)
		}
		items = append(items, it)
	}
	return &dynamodb.BatchGetItemOutput{Responses: map[string][]item{tableName: items},
		ConsumedCapacity: []types.ConsumedCapacity{{CapacityUnits: aws.Float64(float64(len(keys)))}}}, nil
}

func (c *crowd) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableSizeBytes: aws.Int64(1 << 30)}}, nil
}

func (c *crowd) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return nil, fmt.Errorf("the table is too large to be scanned")
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestASaleOfManyClaimsIsRecountedInBoundedMemory(t *testing.T) {
	for _, asks := range []bool{false, true} {
		recountMany(t, asks)
	}
}

func recountMany(t *testing.T, asksForPayment bool) {
	c := newCrowd(1000, *manyClaims)
	c.asks = asksForPayment
	began, before, most, pages := time.Now(), heap(), int64(0), 0
	c.onPage = func() {
		if pages++; pages%50 == 0 {
			most = max(most, heap()-before)
		}
	}
	told := int64(0)
	r, err := Recount(t.Context(), c, tableName, "moutai", Options{
		Now: func() time.Time { return c.began.Add(time.Hour) }, Sleep: noSleep,
		Progress: func(claims, about int64) {
			if claims < told || about != int64(*manyClaims) {
				t.Fatalf("progress: %d of about %d claims after %d", claims, about, told)
			}
			told = claims
		},
	})
	if err != nil || !r.Balanced || r.Confirmed != int64(*manyClaims) || r.Stock != 0 || told != int64(*manyClaims) || len(r.NotLookedFor) != 1 {
		t.Fatalf("got %+v (%v)", r, err)
	}
	// A page of items and 16 or 24 bytes for every claim, not the claims.
	perClaim := map[bool]int64{false: 16, true: 24}[asksForPayment]
	if bound := int64(12<<20) + perClaim*int64(*manyClaims); most > bound || most == 0 {
		t.Errorf("the recount held %d bytes, want at most %d", most, bound)
	}
	t.Logf("%d claims, paid %t: at most %.1f MB held, %.0f read units, %v", *manyClaims, asksForPayment, float64(most)/(1<<20), r.ReadUnits, time.Since(began).Round(100*time.Millisecond))
}
