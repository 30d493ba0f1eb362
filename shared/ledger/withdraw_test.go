package ledger_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
