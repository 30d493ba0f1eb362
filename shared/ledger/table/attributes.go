package table

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/draw"
	"flashsale/shared/sale"
)

func (r *Reader) hex(name string) []byte {
	b, err := hex.DecodeString(r.Text(name))
	if err != nil {
		r.Fail(name, "hexadecimal")
	}
	return b
}

func (r *Reader) digest(name string) draw.Digest {
	d, err := draw.ParseDigest(r.Text(name))
	if err != nil {
		r.Fail(name, "a digest")
	}
	return d
}

func (r *Reader) rank(name string) draw.Rank {
	rank, err := draw.ParseRank(r.Text(name))
	if err != nil {
		r.Fail(name, "a rank")
	}
	return rank
}

func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func N(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Values that many expressions have; nobody changes them.
var Zero, One, Yes, No = N(0), N(1), Bool(true), Bool(false)

func Bool(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// Millis stores an instant as Unix milliseconds, as all instants are.
func Millis(t time.Time) types.AttributeValue { return N(t.UnixMilli()) }

func B(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func SS(texts ...string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: texts} }

func NS(ks ...int) types.AttributeValue {
	values := make([]string, len(ks))
	for i, k := range ks {
		values[i] = strconv.Itoa(k)
	}
	return &types.AttributeValueMemberNS{Value: values}
}

// With adds attributes to a key, making it an item.
func With(key Item, attributes Item) Item {
	for name, value := range attributes {
		key[name] = value
	}
	return key
}

// Reader reads attributes of an item and keeps the first error: a malformed item must
// never be mistaken for an empty one.
type Reader struct {
	Item Item
	Err  error
}

// Has reports whether an item has the attribute, of whatever type: the client returns nil for the
// value of a type that it does not know.
func Has(it Item, name string) bool {
	_, there := it[name]
	return there
}

func (r *Reader) Fail(name, want string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("read item: attribute %s is not %s", name, want)
	}
}

func (r *Reader) Text(name string) string {
	v, ok := r.Item[name].(*types.AttributeValueMemberS)
	if !ok {
		r.Fail(name, "a string")
		return ""
	}
	return v.Value
}

func (r *Reader) OptionalText(name string) string {
	if !Has(r.Item, name) {
		return ""
	}
	return r.Text(name)
}

func (r *Reader) OptionalTexts(name string) []string {
	if !Has(r.Item, name) {
		return nil
	}
	v, ok := r.Item[name].(*types.AttributeValueMemberSS)
	if !ok {
		r.Fail(name, "a string set")
		return nil
	}
	return slices.Sorted(slices.Values(v.Value))
}

func (r *Reader) Number(name string) int64 {
	v, ok := r.Item[name].(*types.AttributeValueMemberN)
	if !ok {
		r.Fail(name, "a number")
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		r.Fail(name, "an integer")
	}
	return n
}

func (r *Reader) OptionalNumber(name string) int64 {
	if !Has(r.Item, name) {
		return 0
	}
	return r.Number(name)
}

func (r *Reader) Flag(name string) bool {
	v, ok := r.Item[name].(*types.AttributeValueMemberBOOL)
	if !ok {
		r.Fail(name, "a boolean")
		return false
	}
	return v.Value
}

func (r *Reader) Bytes(name string) []byte {
	v, ok := r.Item[name].(*types.AttributeValueMemberB)
	if !ok {
		r.Fail(name, "binary")
		return nil
	}
	return v.Value
}

func (r *Reader) Time(name string) time.Time { return time.UnixMilli(r.Number(name)).UTC() }

// OptionalTime returns the zero time if there is no such attribute.
func (r *Reader) OptionalTime(name string) time.Time {
	if !Has(r.Item, name) {
		return time.Time{}
	}
	return r.Time(name)
}

func (r *Reader) OptionalFlag(name string) bool { return Has(r.Item, name) && r.Flag(name) }

func (r *Reader) shards(name string) sale.Set {
	var set sale.Set
	if !Has(r.Item, name) {
		return set // DynamoDB stores no empty set
	}
	v, ok := r.Item[name].(*types.AttributeValueMemberNS)
	if !ok {
		r.Fail(name, "a number set")
		return set
	}
	for _, text := range v.Value {
		k, err := strconv.Atoi(text)
		if err != nil || k < 0 || k >= sale.MaxShards {
			r.Fail(name, "a set of shard numbers")
		}
		set.Add(k)
	}
	return set
}

// Read begins to read an item. If that is for newer readers, nothing in it is
// trusted (P19).
func Read(it Item) Reader {
	r := Reader{Item: it}
	if !Has(it, MinReader) {
		return r
	}
	switch v := r.Number(MinReader); {
	case r.Err != nil:
	case v > sale.Reads:
		r.Err = &sale.Error{
			Code:   sale.NewerVersion,
			Detail: fmt.Sprintf("stored for version %d, and this program reads version %d", v, sale.Reads),
		}
	case v < 1:
		r.Fail(MinReader, "a version")
	}
	return r
}

// ForReader adds the version that an item's reader needs, unless any will do.
func ForReader(version int, it Item) Item {
	if version > 0 {
		it[MinReader] = N(int64(version))
	}
	return it
}
