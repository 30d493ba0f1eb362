package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// errConnectionReset is what a connection says when it breaks before the
// answer has come.
var errConnectionReset = errors.New("read tcp: connection reset by peer")

// validation is the error of a request that DynamoDB refuses to look at. The
// SDK has no type of its own for it.
func validation(format string, args ...any) error {
	return &smithy.GenericAPIError{
		Code: "ValidationException", Message: fmt.Sprintf(format, args...), Fault: smithy.FaultClient,
	}
}

func conditionFailed(old item) error {
	return &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed"), Item: old.copied()}
}

func conflict() error {
	return &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
}

func internalError() error {
	return &types.InternalServerError{Message: aws.String("Internal server error")}
}

func throughputExceeded() error {
	return &types.ProvisionedThroughputExceededException{
		Message: aws.String("The level of configured provisioned throughput for the table was exceeded"),
	}
}

// answered wraps an error the way the SDK does when the service has answered
// with it, so that errors.As finds every layer a real client shows.
func answered(op string, err error) error {
	status := http.StatusBadRequest
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorFault() == smithy.FaultServer {
		status = http.StatusInternalServerError
	}
	return operationError(op, status, err)
}

// unanswered wraps the error of a call that got no answer.
func unanswered(op string, reply Reply) error {
	switch reply {
	case ReplyInternalError:
		return answered(op, internalError())
	case ReplyBrokenConnection:
		return operationError(op, 0, &smithyhttp.RequestSendError{Err: errConnectionReset})
	default:
		return canceled(op, context.DeadlineExceeded)
	}
}

// canceled is what the SDK makes of a context that ended during a call.
func canceled(op string, cause error) error {
	return operationError(op, 0, &smithy.CanceledError{Err: cause})
}

func operationError(op string, status int, err error) error {
	response := &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}}
	return &smithy.OperationError{
		ServiceID: "DynamoDB", OperationName: op,
		Err: &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{Response: response, Err: err}, RequestID: "dynamotest"},
	}
}

// Cancellation reasons, as AWS spells them.
const (
	reasonNone       = "None"
	reasonCondition  = "ConditionalCheckFailed"
	reasonConflict   = "TransactionConflict"
	reasonThrottling = "ThrottlingError"
	reasonThroughput = "ProvisionedThroughputExceeded"
	reasonValidation = "ValidationError"
	reasonDuplicate  = "DuplicateItem" // of a statement only
)

// reasonOf is the reason that stands for the exception by which a single write is refused.
func reasonOf(err error) types.CancellationReason {
	switch err := err.(type) {
	case nil:
		return reason(reasonNone)
	case *types.ConditionalCheckFailedException:
		return types.CancellationReason{Code: aws.String(reasonCondition), Item: err.Item}
	case *types.TransactionConflictException:
		return reason(reasonConflict)
	}
	return types.CancellationReason{Code: aws.String(reasonValidation), Message: aws.String(err.Error())}
}

func reason(code string) types.CancellationReason { return types.CancellationReason{Code: &code} }

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
