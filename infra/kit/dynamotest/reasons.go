package dynamotest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Cancellation reasons, as AWS spells them.
const (
	reasonNone       = "None"
	reasonCondition  = "ConditionalCheckFailed"
	reasonConflict   = "TransactionConflict"
	reasonThrottling = "ThrottlingError"
	reasonThroughput = "ProvisionedThroughputExceeded"
	reasonValidation = "ValidationError"
)

// reason is a cancellation reason as AWS words it.
func reason(code string) types.CancellationReason {
	r := types.CancellationReason{Code: aws.String(code)}
	switch code {
	case reasonCondition:
		r.Message = aws.String("The conditional request failed")
	case reasonConflict:
		r.Message = aws.String("Transaction is ongoing for the item")
	case reasonThrottling, reasonThroughput:
		r.Message = aws.String("Throughput exceeds the current capacity of your table or index.")
	}
	return r
}

// canceledBy is a cancellation of n actions with one code for those it hits.
func canceledBy(n int, hits func(int) bool, code string) error {
	reasons := make([]types.CancellationReason, n)
	for i := range reasons {
		reasons[i] = reason(reasonNone)
		if hits(i) {
			reasons[i] = reason(code)
		}
	}
	return canceledFor(reasons)
}

func canceledFor(reasons []types.CancellationReason) error {
	codes := make([]string, 0, len(reasons))
	for _, r := range reasons {
		codes = append(codes, *r.Code)
	}
	return &types.TransactionCanceledException{
		Message: aws.String("Transaction cancelled, please refer cancellation reasons for specific reasons [" +
			strings.Join(codes, ", ") + "]"),
		CancellationReasons: reasons,
	}
}
