package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func TestAnOrderIDsSecondAndItsDayAreOfOneInstant(t *testing.T) {
	// The reservation of one environment takes until the next day, in whose first
	// second another environment takes that day's first number (P7).
	w, _, _ := faulty(t)
	midnight := ledgertest.Start.Truncate(24 * time.Hour).Add(24 * time.Hour)
	w.Pass(midnight.Add(-time.Second).Sub(w.Now()))
	slow := w.Hooked(dynamotest.Before("UpdateItem", func() { w.Pass(midnight.Sub(w.Now())) }))
	before, err := slow.ReserveOrderIDs(w.Ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	after, err := w.Environment().ReserveOrderIDs(w.Ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	if before[0] == after[0] {
		t.Errorf("order id %d is issued twice", before[0])
	}
	if got := orderid.Time(before[0]); !got.Equal(midnight.Add(-time.Second)) {
		t.Errorf("the first id says %v, want the second in which its reservation began", got)
	}
}

func TestATryAtTheInstantOfClosingSellsNothing(t *testing.T) {
	// The first try conflicts; the second is at the exact instant at which the sale
	// closes, after the snapshot was checked, so only the shard can refuse it.
	for _, tt := range []struct {
		left time.Duration
		want sale.Code
	}{{time.Millisecond, ""}, {0, sale.Closed}} {
		w, _, next := faulty(t)
		c := w.Open(1, 1)
		next(dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{0}})
		late := w.Hooked(dynamotest.After("TransactWriteItems", func() { w.Pass(c.ClosesAt.Add(-tt.left).Sub(w.Now())) }))
		p, err := late.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
		if got := sale.CodeOf(err); got != tt.want || p.Tries != 2 {
			t.Errorf("%v before closing: got %q (%v) after %d tries, want %q after 2", tt.left, got, err, p.Tries, tt.want)
		}
		w.Balanced(1)
	}
}

func TestAnUnexpectedErrorAfterAnUnknownOutcomeIsBusy(t *testing.T) {
	// The unit may be the user's: "internal" would mean that nothing was bought (P5).
	for name, unexpected := range map[string]error{
		"the table is gone":        &types.ResourceNotFoundException{},
		"a reason that none knows": &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("SomethingNew")}, {Code: aws.String("None")}}},
	} {
		w, _, _ := faulty(t)
		w.Open(10, 2)
		tries := 0
		failing := dynamotest.Instead("TransactWriteItems", func() (*dynamodb.TransactWriteItemsOutput, error) {
			if tries++; tries == 1 {
				return nil, errors.New("the connection broke")
			}
			return nil, unexpected
		})
		_, err := w.Hooked(failing).Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
		if sale.CodeOf(err) != sale.Busy || tries != 2 {
			t.Errorf("%s: got %v after %d tries, want busy after 2", name, err, tries)
		}
		tries = 1 // the outcome of no try is unknown
		_, err = w.Hooked(failing).Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "bob"})
		if sale.CodeOf(err) != sale.Internal {
			t.Errorf("%s: got %v at the first try, want internal", name, err)
		}
	}
}
