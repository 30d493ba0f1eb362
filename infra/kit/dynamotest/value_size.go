package dynamotest

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
