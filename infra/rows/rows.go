// Package rows reads the attributes of a table's items, for those who recount the
// books.
//
// A line in here knows DynamoDB's types and no key of the ledger. It shares no code
// with who wrote the items, so that a fault there cannot hide in the recount.
package rows

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Fields reads an item's attributes and keeps the first thing that is wrong.
type Fields struct {
	Item    map[string]types.AttributeValue
	Problem string // "" if everything that was read was as it should be
}

// Fail notes what is wrong, unless something was before.
func (f *Fields) Fail(problem string) {
	if f.Problem == "" {
		f.Problem = problem
	}
}

// Text is a string's value, or "" and a problem.
func (f *Fields) Text(name string) string {
	if v, ok := f.Item[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	f.Fail(name + " is not a string")
	return ""
}

// Number is an integer's value; anything else is a problem.
func (f *Fields) Number(name string) int64 {
	v, ok := f.Item[name].(*types.AttributeValueMemberN)
	if !ok {
		f.Fail(name + " is not a number")
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		f.Fail(name + " is not an integer")
	}
	return n
}
