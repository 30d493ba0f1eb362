package table

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
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

// isContended reports whether a transaction of n actions was cancelled by contention.
func isContended(err error, n int) bool {
	reasons, err := ReasonsOf(err, n)
	return err == nil && slices.ContainsFunc(reasons, func(r types.CancellationReason) bool {
		return Contention(aws.ToString(r.Code))
	})
}

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
