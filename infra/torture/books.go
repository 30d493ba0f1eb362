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
	seeded, shardCount int64    // as the sale item says
	empty              []string // the shards it says are empty
	shards             map[string]shard
	claims             []claim
	orders             []order
	malformed          []string // what is not stored as the design says
}

type shard struct{ stock, seeded int64 }

type claim struct {
	user, claimID, shard string
	acceptedAt           time.Time
	orderID              string // "" while pending
}

type order struct{ id, user, claimID string }

// quiet tells whether every claim is confirmed and every order there; if not,
// it returns when the oldest claim that is neither was accepted.
func (b *books) quiet() (oldest time.Time, ok bool) {
	orders := map[string]bool{}
	for _, o := range b.orders {
		orders[o.id] = true
	}
	ok = true
	for _, c := range b.claims {
		if !orders[c.orderID] && (ok || c.acceptedAt.Before(oldest)) {
			oldest, ok = c.acceptedAt, false
		}
	}
	return oldest, ok
}

// newTable makes a client that can only reach the engine at the URL.
func newTable(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// scanner is the one call that is made of DynamoDB.
type scanner interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// readBooks scans the whole table and returns the books of every sale in it.
// A scan also finds what is not where it belongs.
func readBooks(ctx context.Context, db scanner) (map[string]*books, error) {
	all := map[string]*books{}
	pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: aws.String("LedgerTable"), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read table: %w", err)
		}
		for _, it := range page.Items {
			enter(all, it)
		}
	}
	return all, nil
}

// enter puts an item into the books of its sale.
func enter(all map[string]*books, it item) {
	f := rows.Fields{Item: it}
	kind, rest, _ := strings.Cut(f.Text("pk"), "#")
	saleID, part, _ := strings.Cut(rest, "#")
	if kind == "ORDER" {
		saleID = f.Text("saleId")
	} else if kind != "STOCK" && kind != "CLAIM" && (kind != "SALE" || f.Text("sk") != "SALE") {
		return // receipts of seedings, the listing, sequences
	}
	b := all[saleID]
	if b == nil {
		b = &books{shards: map[string]shard{}}
		all[saleID] = b
	}
	switch kind {
	case "SALE":
		b.seeded, b.shardCount = f.Number("seeded"), f.Number("shards")
		if set, ok := it["empty"].(*types.AttributeValueMemberNS); ok {
			b.empty = set.Value
		}
	case "STOCK":
		b.shards[part] = shard{f.Number("stock"), f.Number("seeded")}
	case "CLAIM":
		c := claim{
			user: f.Text("sk"), claimID: f.Text("claimId"), shard: strconv.FormatInt(f.Number("shard"), 10),
			acceptedAt: time.UnixMilli(f.Number("acceptedAt")),
		}
		if it["orderId"] != nil {
			c.orderID = strconv.FormatInt(f.Number("orderId"), 10)
		}
		b.claims = append(b.claims, c)
	case "ORDER":
		b.orders = append(b.orders, order{rest, f.Text("user"), f.Text("claimId")})
	}
	if f.Problem != "" {
		b.malformed = append(b.malformed, f.Text("pk")+": "+f.Problem)
	}
}
