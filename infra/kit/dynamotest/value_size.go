package dynamotest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// size is the item's size in bytes as DynamoDB counts it.
func (it item) size() int {
	total := 0
	for name, v := range it {
		total += len(name) + valueSize(v)
	}
	return total
}

func valueSize(v types.AttributeValue) int {
	total := 0
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberSS:
		for _, s := range v.Value {
			total += len(s)
		}
		return total
	case *types.AttributeValueMemberNS:
		for _, n := range v.Value {
			total += numberSize(n)
		}
		return total
	}
	return 1 // BOOL
}

func numberSize(text string) int {
	if isPlain(text) { // nearly always; big numbers cost a simulation a tenth of its time
		return sizeOfDigits(len(strings.TrimRight(text, "0")))
	}
	n, err := parseNumber(text)
	if err != nil {
		return len(text)
	}
	return n.size()
}

// isPlain reports whether the text is a positive integer as a program writes it.
func isPlain(text string) bool {
	if text == "" || len(text) > 18 || text[0] == '0' {
		return false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}
