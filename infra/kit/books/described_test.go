package books

import (
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// The recount reads every item by the document and finds what it does not describe, so what is left is that each kind is written.
func TestEveryKindOfItemInTheDocumentIsWritten(t *testing.T) {
	written := map[string]bool{"end of a withdrawal": true, "description": true} // under the keys of a step and an edit
	for _, make := range append(slices.Collect(maps.Values(wholeSales)), afterErasure, archivedSale) {
		for k := range make(t).items() {
			written[kindOf(k)] = true
		}
	}
	for _, kinds := range described {
		for _, kind := range kinds {
			if !written[kind.name] {
				t.Errorf("no %s was written", kind.name)
			}
		}
	}
}
