// Command events writes the sale, the claims and the order that the events in this folder
// name into the local stack's table. It writes them through the ledger, with the events'
// times and claim ids, so that the order gets the id in query-order.json. Repeating it
// changes nothing.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// accepted is when the claims were made, reserved the time in the order's id.
var (
	accepted = time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC)
	reserved = time.Date(2026, 1, 1, 0, 0, 6, 0, time.UTC)
)

// buyers are the buyers in finalize-batch.json. The first one's claim is confirmed; the
// other one's is made now, because a claim that has no order for long counts as a fault.
var buyers = []struct{ user, claim, key string }{
	{"alice", "5LJQBKBVNQ2XRCM7KD3V4HTYWA", ""},
	{"bob", "QZ6WPOE3T2NFGA7JXUHV5RMDCI", "8e03978e-40d5-43e8-bc93-6894a57f9324"},
}

func main() {
	// The dummy credentials belong to no account, so this cannot write to a table on AWS.
	endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), "http://127.0.0.1:"+cmp.Or(os.Getenv("DYNAMODB_PORT"), "8000"))
	client := dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(endpoint), Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}, ledger.OneAttempt)
	creation, err := os.ReadFile("events/seed-create.json")
	var order sale.Order
	if err == nil {
		order, err = fill(context.Background(), client, cmp.Or(os.Getenv("TABLE_NAME"), "LedgerTable"), creation)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "events: %v (is `make run` running?)\n", err)
		os.Exit(1)
	}
	fmt.Printf("sale %s: alice's order is %s, bob's claim is accepted\n", order.SaleID, orderid.String(order.ID))
}

// at returns a clock that always shows this instant.
func at(instant time.Time) func() time.Time { return func() time.Time { return instant } }

// fill creates the sale, sells a unit to each buyer, and returns the order of the first.
func fill(ctx context.Context, table ledger.API, name string, creation []byte) (first sale.Order, err error) {
	var c sale.Creation
	if err := json.Unmarshal(creation, &c); err != nil {
		return first, fmt.Errorf("read the creation: %w", err)
	}
	if err := c.Check(); err != nil {
		return first, err
	}
	now := at(accepted)
	claims := make([]ledger.ClaimRef, len(buyers))
	for i, b := range buyers {
		l := ledger.New(table, name, ledger.Options{Now: now, NewID: func() string { return b.claim }})
		if _, err := l.Create(ctx, c); err != nil {
			return first, fmt.Errorf("create sale %s: %w", c.SaleID, err)
		}
		p, err := l.Purchase(ctx, ledger.Request{SaleID: c.SaleID, User: b.user, Key: b.key})
		if err != nil && sale.CodeOf(err) != sale.AlreadyOrdered {
			return first, fmt.Errorf("buy a unit for %s: %w", b.user, err)
		}
		if p.Claim.ID != b.claim {
			return first, fmt.Errorf("%s already has another claim in sale %s, %s: start the stack with an empty data folder, such as DATA=.build/events", b.user, c.SaleID, p.Claim.ID)
		}
		claims[i] = ledger.ClaimRef{SaleID: c.SaleID, User: b.user, ClaimID: b.claim}
		now = clock.Wall
	}
	confirmed := ledger.New(table, name, ledger.Options{Now: at(reserved)}).Confirm(ctx, claims[:1])[0]
	return confirmed.Order, confirmed.Err
}
