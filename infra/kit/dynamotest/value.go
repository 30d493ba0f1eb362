package dynamotest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const maxItemSize = 400 << 10 // bytes, names included

// item is one stored item. A stored item never changes: a write makes a new
// one, so readers and snapshots may share it. Nobody may change a value that has
// entered or left the package.
type item map[string]types.AttributeValue

// copied is a copy with the same values; nil for no item.
func (it item) copied() map[string]types.AttributeValue { return maps.Clone(it) }

// admitItem is a checked and normal copy of what a caller passed.
func admitItem(in map[string]types.AttributeValue) (item, error) {
	out := make(item, len(in))
	for name, v := range in {
		if name == "" {
			return nil, validation("One or more parameter values were invalid: attribute names must not be empty")
		}
		admitted, err := admit(v)
		if err != nil {
			return nil, err
		}
		out[name] = admitted
	}
	return out, nil
}

// admit checks one value and returns its normal form: numbers in plain digits,
// sets in order.
func admit(v types.AttributeValue) (types.AttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberN:
		n, err := wholeNumber(v.Value)
		if err != nil {
			return nil, err
		}
		return numberOf(n), nil
	case *types.AttributeValueMemberSS:
		set := slices.Clone(v.Value)
		slices.Sort(set)
		if slices.Contains(set, "") {
			return nil, validation("One or more parameter values were invalid: An string set may not have a empty string as a member")
		}
		return &types.AttributeValueMemberSS{Value: set}, checkSet("string", len(set), len(slices.Compact(slices.Clone(set))))
	case *types.AttributeValueMemberNS:
		set, err := admitNumbers(v.Value)
		if err != nil {
			return nil, err
		}
		return &types.AttributeValueMemberNS{Value: set}, checkSet("number", len(v.Value), len(set))
	case *types.AttributeValueMemberB:
		if v.Value == nil { // the client sends it as null
			return nil, emptyValue()
		}
		return v, nil
	case *types.AttributeValueMemberS, *types.AttributeValueMemberBOOL:
		return v, nil
	case nil:
		return nil, emptyValue()
	}
	return nil, validation("dynamotest does not know values of type %T", v)
}

func emptyValue() error {
	return validation("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

func checkSet(kind string, size, distinct int) error {
	switch {
	case size == 0:
		return validation("One or more parameter values were invalid: An %s set  may not be empty", kind)
	case size != distinct:
		return validation("One or more parameter values were invalid: Input collection contains duplicates.")
	}
	return nil
}

// typeOf is the type descriptor of a value, such as S or NS.
func typeOf(v types.AttributeValue) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}

// equal compares two admitted values, of which equal ones have one form; a missing value equals
// nothing.
func equal(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case nil:
		return false
	case *types.AttributeValueMemberS:
		b, ok := b.(*types.AttributeValueMemberS)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberN:
		b, ok := b.(*types.AttributeValueMemberN)
		return ok && a.Value == b.Value
	}
	return reflect.DeepEqual(a, b)
}

// ordered compares two strings or two numbers; ok is false
// for anything else.
func ordered(a, b types.AttributeValue) (order int, ok bool) {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, same := b.(*types.AttributeValueMemberS); same {
			return strings.Compare(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberN:
		if b, same := b.(*types.AttributeValueMemberN); same {
			return compareNumbers(a.Value, b.Value), true
		}
	}
	return 0, false
}

// size is the item's size in bytes as DynamoDB counts it.
func (it item) size() int {
	total := 0
	for name, v := range it {
		total += len(name) + valueSize(v)
	}
	return total
}

func valueSize(v types.AttributeValue) (total int) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberSS:
		for _, one := range v.Value {
			total += len(one)
		}
		return total
	case *types.AttributeValueMemberNS:
		for _, one := range v.Value {
			total += numberSize(one)
		}
		return total
	}
	return 1 // BOOL
}

// This project computes with and compares whole numbers of 64 bits, so every number is one.

// wholeNumber reads a number. Its error is a ValidationException.
func wholeNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, validation("The parameter cannot be converted to a numeric value of those that dynamotest knows, whole ones of 64 bits: %s", text)
	}
	return n, nil
}

func numberOf(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// admitNumbers returns the distinct numbers of a set in order.
func admitNumbers(texts []string) ([]string, error) {
	out := make([]string, len(texts))
	for i, text := range texts {
		n, err := wholeNumber(text)
		if err != nil {
			return nil, err
		}
		out[i] = strconv.FormatInt(n, 10)
	}
	slices.SortFunc(out, compareNumbers)
	return slices.Compact(out), nil
}

// sumOf adds two admitted numbers, or subtracts the second one.
func sumOf(a, b *types.AttributeValueMemberN, subtract bool) (types.AttributeValue, error) {
	x, _ := wholeNumber(a.Value)
	y, _ := wholeNumber(b.Value)
	if subtract {
		y = -y
	}
	if sum := x + y; (sum < x) == (y < 0) {
		return numberOf(sum), nil
	}
	return nil, validation("Number overflow: dynamotest knows whole numbers of 64 bits")
}

// compareNumbers compares two admitted numbers.
func compareNumbers(a, b string) int {
	x, _ := wholeNumber(a)
	y, _ := wholeNumber(b)
	return cmp.Compare(x, y)
}

// numberSize is what a number counts for in the size of its item: about one byte for two
// digits and one more, and one for the sign. Zeros at its end do not count.
func numberSize(text string) int {
	digits := strings.TrimPrefix(text, "-")
	size := (max(1, len(strings.TrimRight(digits, "0")))+1)/2 + 1
	if digits != text {
		size++
	}
	return size
}
