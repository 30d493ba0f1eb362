package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
)

// filter is a filter of PublishFunction's event source: an attribute that appears, or is
// there.
type filter struct{ prefix, appears, has string }

// filters are those of template.yaml.
var filters = []filter{
	{prefix: "CLAIM#", appears: "orderId"},
	{prefix: "CLAIM#", appears: "paidAt"},
	{prefix: "CLAIM#", appears: "releasedAt"},
	{prefix: "REFUND#"},
	{prefix: "SALE", has: "closesAt"},
}

// String returns the filter's pattern.
func (f filter) String() string {
	images := ""
	if name := f.appears + f.has; name != "" {
		images = fmt.Sprintf(`,"NewImage":{%q:{"N":[{"exists":true}]}}`, name)
	}
	if f.appears != "" {
		images += fmt.Sprintf(`,"OldImage":{%q:{"N":[{"exists":false}]}}`, f.appears)
	}
	return fmt.Sprintf(`{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":%q}]}}%s}}`, f.prefix, images)
}

// IsDelivered reports whether Lambda delivers the record.
func IsDelivered(r dynamotest.Record) bool {
	pk := Text(r.Keys["pk"])
	return slices.ContainsFunc(filters, func(f filter) bool {
		return strings.HasPrefix(pk, f.prefix) &&
			(f.appears == "" || r.New[f.appears] != nil && r.Old[f.appears] == nil) &&
			(f.has == "" || r.New[f.has] != nil)
	})
}

// PendingRecord is a record that is not checkpointed yet.
type PendingRecord struct {
	Record   dynamotest.Record
	Raw      json.RawMessage
	Sequence string
	Since    time.Time
}

// PoisonRecord returns a record that can never be published, made from another one.
func PoisonRecord(r dynamotest.Record, kind int) (raw json.RawMessage, sequence string) {
	r.Sequence += 1e15
	sequence = r.SequenceNumber()
	if kind == 0 {
		return fmt.Appendf(nil, "%q", "garbage "+sequence), ""
	}
	if kind == 1 || !strings.HasPrefix(Text(r.Keys["pk"]), "CLAIM#") {
		return fmt.Appendf(nil, `{"dynamodb":{"SequenceNumber":%q,"NewImage":{"pk":7}}}`, sequence), sequence
	}
	r.New = maps.Clone(r.New)
	r.New["orderId"] = &types.AttributeValueMemberN{Value: "1" + Text(r.New["orderId"])}
	if kind == 2 {
		r.New["shard"] = &types.AttributeValueMemberS{Value: "none"}
	} else { // of a newer release, whose order id means something else
		r.New["minReader"] = &types.AttributeValueMemberN{Value: "99"}
	}
	return r.JSON(), sequence
}

// CountHandled returns how many records come before the first one that the answer names.
// An identifier that Lambda cannot use fails the whole batch.
func CountHandled(batch []*PendingRecord, answer events.DynamoDBEventResponse) int {
	done := len(batch)
	for _, f := range answer.BatchItemFailures {
		at := slices.IndexFunc(batch, func(e *PendingRecord) bool { return e.Sequence != "" && e.Sequence == f.ItemIdentifier })
		done = min(done, max(0, at))
	}
	return done
}
