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
	f := fields{item: it}
	pk := f.text("pk")
	kind, rest, _ := strings.Cut(pk, "#")
	sale, part, _ := strings.Cut(rest, "#")
	switch {
	case kind == "SALE" && sale == saleID && f.text("sk") == "SALE":
		b.seeded, b.shardCount = f.number("seeded"), f.number("shards")
	case kind == "STOCK" && sale == saleID:
		b.shards[f.index(part)] = shard{stock: f.number("stock"), seeded: f.number("seeded")}
	case kind == "CLAIM" && sale == saleID:
		c := claim{
			bucket: f.index(part), user: f.text("sk"), claimID: f.text("claimId"),
			shard: int(f.number("shard")), acceptedAt: time.UnixMilli(f.number("acceptedAt")),
		}
		if it["orderId"] != nil {
			c.orderID = strconv.FormatInt(f.number("orderId"), 10)
		}
		b.claims = append(b.claims, c)
	case kind == "ORDER" && it["saleId"] != nil && f.text("saleId") == saleID:
		b.orders = append(b.orders, order{orderID: rest, user: f.text("user"), claimID: f.text("claimId")})
	default:
		return // another sale's
	}
	if f.problem != "" {
		b.malformed = append(b.malformed, fmt.Sprintf("%s: %s", pk, f.problem))
	}
}

// fields reads an item's attributes and keeps the first thing that is wrong.
type fields struct {
	item    item
	problem string
}

func (f *fields) fail(problem string) {
	if f.problem == "" {
		f.problem = problem
	}
}

func (f *fields) text(name string) string {
	if v, ok := f.item[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	f.fail(name + " is not a string")
	return ""
}

func (f *fields) number(name string) int64 {
	v, ok := f.item[name].(*types.AttributeValueMemberN)
	if !ok {
		f.fail(name + " is not a number")
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		f.fail(name + " is not an integer")
	}
	return n
}

// index reads the number at the end of a partition key.
func (f *fields) index(part string) int {
	n, err := strconv.Atoi(part)
	if err != nil || n < 0 || strconv.Itoa(n) != part {
		f.fail("the key does not end with a number")
		return -1
	}
	return n
}
