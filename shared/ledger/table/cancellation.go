package table

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Cancellation reasons, as AWS spells them.
const (
	ReasonNone       = "None"
	ReasonCondition  = "ConditionalCheckFailed"
	reasonConflict   = "TransactionConflict"
	reasonThroughput = "ProvisionedThroughputExceeded"
	reasonThrottling = "ThrottlingError"
	reasonInProgress = "TransactionInProgress"
)

// ReasonsOf returns the reasons of a cancelled transaction of n actions.
func ReasonsOf(err error, n int) ([]types.CancellationReason, error) {
	cancel, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return nil, fmt.Errorf("read cancellation: %w", err)
	}
	if len(cancel.CancellationReasons) != n {
		return nil, fmt.Errorf("read cancellation: %d reasons for %d actions: %w", len(cancel.CancellationReasons), n, err)
	}
	return cancel.CancellationReasons, nil
}
