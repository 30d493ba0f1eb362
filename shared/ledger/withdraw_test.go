package ledger_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/sale"
)

func TestAStepThatIsRefusedForNoKnownReasonIsInternal(t *testing.T) {
	w, _, _ := faulty(t)
	w.Open(1, 1)
	none, failed := types.CancellationReason{Code: aws.String("None")}, aws.String("ConditionalCheckFailed")
	for name, reasons := range map[string][]types.CancellationReason{
		"the shard meets its condition": {none, {Code: failed, Item: w.Item("STOCK#moutai#0", "STOCK")}, none, none},
		"the shard cannot be read":      {none, {Code: failed, Item: w.Item("SALE#moutai", "SALE")}, none, none},
		"the listing is gone":           {none, none, none, {Code: failed}},
		"a receipt that is none":        {{Code: failed, Item: w.Item("STOCK#moutai#0", "STOCK")}, none, none, none},
	} {
		tries := 0
		refusing := w.Hooked(func(_ string, in any, call func() (any, error)) (any, error) {
			if transaction, ok := in.(*dynamodb.TransactWriteItemsInput); !ok || len(transaction.TransactItems) == 1 {
				return call()
			}
			tries++
			return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
		})
		_, err := refusing.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: 1})
		if sale.CodeOf(err) != sale.Internal || tries != 1 {
			t.Errorf("%s: %v after %d tries, want internal after the first", name, err, tries)
		}
	}
}

func TestAWithdrawalCostsATransactionPerShardAndItsRepeatNone(t *testing.T) {
	w, db, _ := faulty(t)
	w.Open(8, 4)
	for _, want := range []map[string]int{
		// The sale, before and after; the trail and the receipts; the shards; the announcement, and a step for each shard.
		{"GetItem": 2, "Query": 2, "BatchGetItem": 1, "TransactWriteItems": 1 + 4},
		{"GetItem": 2, "Query": 2, "TransactWriteItems": 1},
	} {
		db.ResetUsage()
		got, err := w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "typo", Stock: 4})
		if err != nil || got.Units != 4 {
			t.Fatalf("got %+v (%v), want 4 units", got, err)
		}
		if diff := cmp.Diff(want, db.Calls()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	}
	for step := range 4 {
		if w.Item("SALE#moutai", fmt.Sprintf("WITHDRAWN#typo#%d", step)) == nil {
			t.Errorf("there is no step %d", step)
		}
	}
}
