package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	dynamoNamespace = "com.amazonaws.dynamodb.v20120810#"
	coralNamespace  = "com.amazon.coral.availability#"
	coralService    = "com.amazon.coral.service#"
)

// refusal is the answer of a service that applied nothing, or only a part.
type refusal struct {
	status int
	kind   string // the error's name with its namespace; "" with status 200
	body   map[string]any
}

type reason struct {
	Code    string
	Message string `json:",omitempty"`
}

var (
	conflictReason   = reason{"TransactionConflict", "Transaction is ongoing for the item"}
	capacityReason   = reason{"ProvisionedThroughputExceeded", "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."}
	throttlingReason = reason{"ThrottlingError", "Throughput exceeds the current capacity of your table or index."}
)

// cancelled is the cancellation of a transaction of n actions, with reason why for some
// of them.
func cancelled(n int, some []int, why reason) refusal {
	reasons, codes := make([]reason, n), make([]string, n)
	for i := range reasons {
		reasons[i] = reason{Code: "None"}
		if slices.Contains(some, i) {
			reasons[i] = why
		}
		codes[i] = reasons[i].Code
	}
	return refusal{http.StatusBadRequest, dynamoNamespace + "TransactionCanceledException", map[string]any{
		"Message": "Transaction cancelled, please refer cancellation reasons for specific reasons [" +
			strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	}}
}

// conflicting refuses a call some of whose items are in another transaction.
func conflicting(c call, some []int) refusal {
	if c.cancelled() {
		return cancelled(len(c.items), some, conflictReason)
	}
	return refusal{http.StatusBadRequest, dynamoNamespace + "TransactionConflictException", map[string]any{
		"message": conflictReason.Message,
	}}
}

// throttling refuses a call for lack of capacity, in one of DynamoDB's two ways, which
// also differ in the spelling of their list of reasons.
func throttling(c call, p plan) refusal {
	switch {
	case c.cancelled() && len(c.items) > 0 && p.variant:
		return cancelled(len(c.items), p.some, capacityReason)
	case c.cancelled() && len(c.items) > 0:
		return cancelled(len(c.items), p.some, throttlingReason)
	case p.variant:
		return refusal{http.StatusBadRequest, dynamoNamespace + "ProvisionedThroughputExceededException", map[string]any{
			"message": capacityReason.Message, "ThrottlingReasons": throttlingReasons("TableWriteProvisionedThroughputExceeded"),
		}}
	default:
		return refusal{http.StatusBadRequest, coralNamespace + "ThrottlingException", map[string]any{
			"message": throttlingReason.Message, "throttlingReasons": throttlingReasons("TableWriteKeyRangeThroughputExceeded"),
		}}
	}
}

func throttlingReasons(text string) []map[string]string {
	return []map[string]string{{"reason": text, "resource": "arn:aws:dynamodb:us-east-1:000000000000:table/faults"}}
}

func internalError(c call) refusal {
	if c.class == sending {
		return refusal{http.StatusInternalServerError, coralService + "InternalFailure", map[string]any{
			"message": "We encountered an internal error. Please try again.",
		}}
	}
	return refusal{http.StatusInternalServerError, dynamoNamespace + "InternalServerError", map[string]any{
		"message": "Internal server error",
	}}
}

// answer is the refusal as an HTTP response to request r, which has number n.
func (f refusal) answer(r *http.Request, n uint64) (*http.Response, error) {
	if f.kind != "" {
		f.body["__type"] = f.kind
	}
	body, err := json.Marshal(f.body)
	if err != nil {
		return nil, fmt.Errorf("encode refusal: %w", err)
	}
	return &http.Response{
		Status: strconv.Itoa(f.status) + " " + http.StatusText(f.status), StatusCode: f.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type":     {"application/x-amz-json-1.0"},
			"Content-Length":   {strconv.Itoa(len(body))},
			"X-Amzn-Requestid": {fmt.Sprintf("faults-%d", n)},
			"X-Amz-Crc32":      {strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)},
		},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}, nil
}
