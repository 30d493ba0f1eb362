package harness

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// keyOf returns the name of a key, or of an item's key.
func keyOf(it map[string]types.AttributeValue) string { return Text(it["pk"]) + "|" + Text(it["sk"]) }

// Text returns a stored string or number; "" for anything else.
func Text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// Number returns a stored number; ok is false for anything else.
func Number(v types.AttributeValue) (n int64, ok bool) {
	held, isNumber := v.(*types.AttributeValueMemberN)
	if !isNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(held.Value, 10, 64)
	return n, err == nil
}

// Stamp spells an instant as requests and events do.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Sorted returns the keys of a map in order: map iteration order is the one thing that
// no seed reproduces.
func Sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
