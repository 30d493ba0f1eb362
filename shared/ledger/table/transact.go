package table

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// withoutToken keeps the SDK from adding a ClientRequestToken. Every transaction here
// detects its own repeat by what it wrote, at any age; a token would add a ten-minute
// limit, parameter matching and two more errors.
var withoutToken = []func(*dynamodb.Options){func(o *dynamodb.Options) { o.IdempotencyTokenProvider = nil }}

func (t *Table) Transact(ctx context.Context, actions ...types.TransactWriteItem) error {
	_, err := t.API.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, withoutToken...)
	return err
}

// RetryTransaction tries a transaction that detects its own repeat until it is
// committed or refused. It returns the reasons only if a condition failed and no action
// has contention, which would hide the result of its condition: then the transaction is
// tried again. With reasons the error is the client's, for the log; otherwise it has a
// code of package sale.
func (t *Table) RetryTransaction(
	ctx context.Context, actions ...types.TransactWriteItem,
) ([]types.CancellationReason, error) {
	for left := t.UpTo(PatientTries); ; {
		err := t.Retry(ctx, PatientTries, func(ctx context.Context) error { return t.Transact(ctx, actions...) })
		if Judge(err) != Cancelled {
			return nil, sale.AsInternal(err)
		}
		reasons, readErr := ReasonsOf(err, len(actions))
		if readErr != nil {
			return nil, sale.AsInternal(readErr)
		}
		refused, contended := false, false
		for _, reason := range reasons {
			switch code := aws.ToString(reason.Code); {
			case code == ReasonCondition:
				refused = true
			case Contention(code):
				contended = true
			case code != ReasonNone:
				return nil, sale.AsInternal(fmt.Errorf("read cancellation: reason %q: %w", code, err))
			}
		}
		switch {
		case !contended && refused:
			return reasons, err
		case !contended:
			return nil, sale.AsInternal(err)
		case !left.Again(ctx):
			return nil, sale.Fail(sale.Busy, err)
		}
	}
}

// Failed reports whether an action was refused by its condition.
func Failed(reason types.CancellationReason) bool {
	return aws.ToString(reason.Code) == ReasonCondition
}

// Put is a put-if-absent inside a transaction, whose failure returns the existing item.
func (t *Table) Put(it Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: t.Name, Item: it, ConditionExpression: &IfAbsent,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// TryPut puts an item, and returns the client's error if there is one, with that if it says so.
func (t *Table) TryPut(ctx context.Context, tries int, it Item, returnOld bool) error {
	return t.Retry(ctx, tries, func(ctx context.Context) error {
		_, err := t.API.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: t.Name, Item: it, ConditionExpression: &IfAbsent,
			ReturnValuesOnConditionCheckFailure: returned(returnOld),
		})
		return err
	})
}

// PutAbsent puts an item unless there is one.
func (t *Table) PutAbsent(ctx context.Context, it Item) error {
	err := t.TryPut(ctx, PatientTries, it, false)
	if Judge(err) == Conditioned {
		return nil
	}
	return sale.AsInternal(err)
}

var IfAbsent = "attribute_not_exists(pk)"
