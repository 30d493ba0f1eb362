package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/rows"
)

type item = map[string]types.AttributeValue

// books are what the table holds of one sale.
type books struct {
	seeded, shardCount int64 // as the sale item says
	shards             map[int]shard
	claims             []claim
	orders             []order
	malformed          []string // what is not as the design says it is stored
}

type shard struct{ stock, seeded int64 }

type claim struct {
	bucket     int
	user       string
	claimID    string
	shard      int
	acceptedAt time.Time
	orderID    string // "" while pending
}

type order struct{ orderID, user, claimID string }

// scanner is the one call that is made of DynamoDB.
type scanner interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

func newTable(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint,
		Region:       "us-east-1",
		// A local engine asks for credentials but does not check them.
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// readBooks scans the whole table, so that it also finds what is not where it
// belongs: a second claim in another bucket, a shard too many, an order that
// no claim knows of. It is meant for a quiet sale on a local engine.
func readBooks(ctx context.Context, db scanner, table, saleID string) (books, error) {
	b := books{shards: map[int]shard{}}
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return b, fmt.Errorf("read table %s: %w", table, err)
		}
		for _, it := range page.Items {
			b.add(saleID, it)
		}
	}
	if b.seeded == 0 {
		b.malformed = append(b.malformed, "the sale item is missing")
	}
	return b, nil
}

// add enters an item, if it belongs to the sale.
func (b *books) add(saleID string, it item) {
	f := rows.Fields{Item: it}
	pk := f.Text("pk")
	kind, rest, _ := strings.Cut(pk, "#")
	sale, part, _ := strings.Cut(rest, "#")
	switch {
	case kind == "SALE" && sale == saleID && f.Text("sk") == "SALE":
		b.seeded, b.shardCount = f.Number("seeded"), f.Number("shards")
	case kind == "STOCK" && sale == saleID:
		b.shards[index(&f, part)] = shard{stock: f.Number("stock"), seeded: f.Number("seeded")}
	case kind == "CLAIM" && sale == saleID:
		c := claim{
			bucket: index(&f, part), user: f.Text("sk"), claimID: f.Text("claimId"),
			shard: int(f.Number("shard")), acceptedAt: time.UnixMilli(f.Number("acceptedAt")),
		}
		if it["orderId"] != nil {
			c.orderID = strconv.FormatInt(f.Number("orderId"), 10)
		}
		b.claims = append(b.claims, c)
	case kind == "ORDER" && it["saleId"] != nil && f.Text("saleId") == saleID:
		b.orders = append(b.orders, order{orderID: rest, user: f.Text("user"), claimID: f.Text("claimId")})
	default:
		return // another sale's
	}
	if f.Problem != "" {
		b.malformed = append(b.malformed, fmt.Sprintf("%s: %s", pk, f.Problem))
	}
}

// index reads the number at the end of a partition key.
func index(f *rows.Fields, part string) int {
	n, err := strconv.Atoi(part)
	if err != nil || n < 0 || strconv.Itoa(n) != part {
		f.Fail("the key does not end with a number")
		return -1
	}
	return n
}
