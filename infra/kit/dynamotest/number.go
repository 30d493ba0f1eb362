package dynamotest

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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

// sumOf adds two numbers, or subtracts the second one.
func sumOf(a, b *types.AttributeValueMemberN, subtract bool) (types.AttributeValue, error) {
	x, err := wholeNumber(a.Value)
	if err != nil {
		return nil, err
	}
	y, err := wholeNumber(b.Value)
	if err != nil {
		return nil, err
	}
	sum, other := big.NewInt(x), big.NewInt(y)
	if subtract {
		other.Neg(other)
	}
	if sum.Add(sum, other); !sum.IsInt64() {
		return nil, validation("Number overflow: dynamotest knows whole numbers of 64 bits")
	}
	return numberOf(sum.Int64()), nil
}

// compareNumbers compares two admitted numbers.
func compareNumbers(a, b string) int {
	x, _ := wholeNumber(a) // it was admitted
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
