package simulate

import (
	"fmt"
	"slices"
	"strings"

	"flashsale/shared/ledger/dynamotest"
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

// delivered reports whether Lambda delivers the record.
func delivered(r dynamotest.Record) bool {
	pk := text(r.Keys["pk"])
	return slices.ContainsFunc(filters, func(f filter) bool {
		return strings.HasPrefix(pk, f.prefix) &&
			(f.appears == "" || r.New[f.appears] != nil && r.Old[f.appears] == nil) &&
			(f.has == "" || r.New[f.has] != nil)
	})
}
