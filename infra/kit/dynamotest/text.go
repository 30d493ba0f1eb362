package dynamotest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// textOf spells an item in a stable way: equal items have equal texts.
func textOf(it map[string]types.AttributeValue) string {
	var out strings.Builder
	writeText(&out, &types.AttributeValueMemberM{Value: it})
	return out.String()
}

// writeText spells a value in a stable way.
func writeText(out *strings.Builder, v types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		fmt.Fprintf(out, "%q", v.Value)
	case *types.AttributeValueMemberN:
		out.WriteString(v.Value)
	case *types.AttributeValueMemberB:
		fmt.Fprintf(out, "B%q", v.Value)
	case *types.AttributeValueMemberBOOL:
		fmt.Fprint(out, v.Value)
	case *types.AttributeValueMemberNULL:
		out.WriteString("null")
	case *types.AttributeValueMemberSS:
		fmt.Fprintf(out, "SS%q", v.Value)
	case *types.AttributeValueMemberNS:
		fmt.Fprintf(out, "NS%v", v.Value)
	case *types.AttributeValueMemberBS:
		fmt.Fprintf(out, "BS%q", v.Value)
	case *types.AttributeValueMemberL:
		out.WriteString("[")
		for i, element := range v.Value {
			if i > 0 {
				out.WriteString(", ")
			}
			writeText(out, element)
		}
		out.WriteString("]")
	case *types.AttributeValueMemberM:
		out.WriteString("{")
		for i, name := range slices.Sorted(maps.Keys(v.Value)) {
			if i > 0 {
				out.WriteString(", ")
			}
			fmt.Fprintf(out, "%s: ", name)
			writeText(out, v.Value[name])
		}
		out.WriteString("}")
	}
}
