package ledger

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

func (l *Ledger) transact(ctx context.Context, actions ...types.TransactWriteItem) error {
	_, err := l.api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, withoutToken...)
	return err
}

// retryTransaction tries a transaction that detects its own repeat until it is
// committed or refused. It returns the reasons only if a condition failed and no action
// has contention, which would hide the result of its condition: then the transaction is
// tried again. With reasons the error is the client's, for the log; otherwise it has a
// code of package sale.
func (l *Ledger) retryTransaction(ctx context.Context, actions ...types.TransactWriteItem) ([]types.CancellationReason, error) {
	for left := l.upTo(patientTries); ; {
		err := l.retry(ctx, patientTries, func(ctx context.Context) error { return l.transact(ctx, actions...) })
		if judge(err) != cancelled {
			return nil, asInternal(err)
		}
		reasons, readErr := reasonsOf(err, len(actions))
		if readErr != nil {
			return nil, asInternal(readErr)
		}
		refused, contended := false, false
		for _, reason := range reasons {
			switch code := aws.ToString(reason.Code); {
			case code == reasonCondition:
				refused = true
			case contention(code):
				contended = true
			case code != reasonNone:
				return nil, asInternal(fmt.Errorf("read cancellation: reason %q: %w", code, err))
			}
		}
		switch {
		case !contended && refused:
			return reasons, err
		case !contended:
			return nil, asInternal(err)
		case !left.again(ctx):
			return nil, sale.Fail(sale.Busy, err)
		}
	}
}

// failed reports whether an action was refused by its condition.
func failed(reason types.CancellationReason) bool {
	return aws.ToString(reason.Code) == reasonCondition
}

// put is a put-if-absent inside a transaction, whose failure returns the existing item.
func (l *Ledger) put(it item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: l.table, Item: it, ConditionExpression: &ifAbsent,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// putAbsent puts an item unless there is one.
func (l *Ledger) putAbsent(ctx context.Context, it item) error {
	err := l.retry(ctx, patientTries, func(ctx context.Context) error {
		_, err := l.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: l.table, Item: it, ConditionExpression: &ifAbsent})
		return err
	})
	if judge(err) == conditioned {
		return nil
	}
	return asInternal(err)
}

var ifAbsent = "attribute_not_exists(pk)"
