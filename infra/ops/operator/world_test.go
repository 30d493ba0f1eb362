package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// newTable is an empty table in this process.
func newTable() *dynamotest.DB {
	return dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
}

// listed are new sales of one shard each, and the ledger that has them.
func listed(t *testing.T, ids ...string) (*dynamotest.DB, *ledger.Ledger) {
	t.Helper()
	db := newTable()
	book := ledger.New(db, "T", ledger.Options{})
	for _, id := range ids {
		if _, err := book.Create(t.Context(), sale.Creation{
			SaleID: id, Name: id, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), Stock: 10, Shards: 1,
		}); err != nil {
			t.Fatal(err)
		}
	}
	return db, book
}

// opened waits until noon and opens a sale of c, on one shard and to be paid within an hour in CNY.
func opened(t *testing.T, c sale.Creation) (*dynamotest.DB, *ledger.Ledger) {
	t.Helper()
	time.Sleep(time.Until(noon))
	db := newTable()
	book := ledger.New(db, "T", ledger.Options{})
	c.SaleID, c.OpensAt, c.ClosesAt, c.Shards, c.PayWithin, c.Currency = "moutai", noon, noon.Add(time.Hour), 1, time.Hour, "CNY"
	if _, err := book.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return db, book
}

// ordered returns the order id of a user who buys and is confirmed.
func ordered(t *testing.T, book *ledger.Ledger, user string) uint64 {
	t.Helper()
	p, err := book.Purchase(t.Context(), ledger.Request{SaleID: "moutai", User: user})
	if err != nil {
		t.Fatal(err)
	}
	return book.Confirm(t.Context(), []ledger.ClaimRef{{SaleID: "moutai", User: user, ClaimID: p.Claim.ID}})[0].Order.ID
}

// pay reports a payment by stripe.
func pay(t *testing.T, book *ledger.Ledger, reference string, order uint64, amount int64) {
	t.Helper()
	if _, err := book.Pay(t.Context(), sale.Payment{Provider: "stripe", Reference: reference, SaleID: "moutai", OrderID: order, Amount: amount, Currency: "CNY"}); err != nil {
		t.Fatal(err)
	}
}

// drained waits until the sale is over, audits it and marks it as drained.
func drained(t *testing.T, book *ledger.Ledger) {
	t.Helper()
	time.Sleep(2 * time.Hour)
	r, err := book.Step(t.Context(), &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := book.Drain(t.Context(), r); !done || err != nil {
		t.Fatalf("not drained: %v", err)
	}
}

// remove deletes an item.
func remove(t *testing.T, db *dynamotest.DB, pk, sk string) {
	t.Helper()
	name := "T"
	if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
	}}); err != nil {
		t.Fatal(err)
	}
}

// does runs a command at a place, whose words are separated by blanks; more words may have some.
func (p *place) does(t *testing.T, command string, more ...string) (said string, err error) {
	t.Helper()
	words := append(strings.Fields(command), more...)
	c, ok := commandOf(words[0])
	if !ok {
		t.Fatalf("there is no command %q", words[0])
	}
	var out bytes.Buffer
	err = c.do(t.Context(), p, words[1:], &out)
	return out.String(), err
}

// does runs a command on a table in this process.
func does(t *testing.T, db *dynamotest.DB, command string) (said string, err error) {
	t.Helper()
	return (&place{db: db, table: "T"}).does(t, command)
}

// errOther is any error that is none of those that a command fails with after it has worked.
var errOther = errors.New("it cannot be found out")

// tells checks with which error a command fails (nil: none), and that its output or its error has the texts.
func tells(t *testing.T, db *dynamotest.DB, command string, fails error, want ...string) {
	t.Helper()
	said, err := does(t, db, command)
	own := slices.ContainsFunc([]error{errBroken, errNotDone, errNotPublished}, func(known error) bool { return errors.Is(err, known) })
	if !errors.Is(err, fails) && (fails != errOther || err == nil || own) {
		t.Errorf("%s: got %v, want %v", command, err, fails)
	}
	contains(t, fmt.Sprint(said, err), want...)
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}
