package operator

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/place"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

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

func remove(t *testing.T, db *dynamotest.DB, pk, sk string) {
	t.Helper()
	name := "T"
	if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
	}}); err != nil {
		t.Fatal(err)
	}
}

// at runs a command line at a place. Without an out, stdout is said with stderr, in their order.
func (p *place) at(t *testing.T, stdin io.Reader, out io.Writer, words ...string) (said string, code int) {
	t.Helper()
	return p.during(t.Context(), stdin, out, words...)
}

// during is at, until a context ends.
func (p *place) during(ctx context.Context, stdin io.Reader, out io.Writer, words ...string) (said string, code int) {
	var where system.Flags
	if p.where != nil {
		where = *p.where
	}
	p.where = &system.Flags{}
	var both bytes.Buffer
	root := &cobra.Command{Use: "flashsale"}
	root.SetIn(cmp.Or(stdin, io.Reader(strings.NewReader(""))))
	root.SetOut(cmp.Or(out, io.Writer(&both)))
	root.SetErr(&both)
	p.where.Add(root.PersistentFlags())
	*p.where = where
	root.AddCommand(commandsAt(p)...)
	code = cli.Execute(ctx, root, words)
	return both.String(), code
}

// does runs a command line at a place, whose words are separated by blanks; more words may have some.
func (p *place) does(t *testing.T, command string, more ...string) (said string, code int) {
	t.Helper()
	return p.at(t, nil, nil, append(strings.Fields(command), more...)...)
}

// does runs a command on a table in this process.
func does(t *testing.T, db *dynamotest.DB, command string) (said string, code int) {
	t.Helper()
	return (&place{db: db}).does(t, command)
}

// data is what a command on a table in this process writes to stdout.
func data(t *testing.T, db *dynamotest.DB, command string) (stdout string, code int) {
	t.Helper()
	var out bytes.Buffer
	_, code = (&place{db: db}).at(t, nil, &out, strings.Fields(command)...)
	return out.String(), code
}

// tells checks the exit code of a command, and that it says the texts.
func tells(t *testing.T, db *dynamotest.DB, command string, code int, want ...string) {
	t.Helper()
	said, got := does(t, db, command)
	if got != code {
		t.Errorf("%s: exit %d, want %d", command, got, code)
	}
	contains(t, said, want...)
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}
