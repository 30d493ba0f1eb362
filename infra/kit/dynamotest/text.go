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
	out.WriteString("{")
	for i, name := range slices.Sorted(maps.Keys(it)) {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprintf(&out, "%s: ", name)
		writeText(&out, it[name])
	}
	out.WriteString("}")
	return out.String()
}

// writeText spells a value in a stable way.
func writeText(out *strings.Builder, v types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		fmt.Fprintf(out, "%q", v.Value)
	case *types.AttributeValueMemberN:
		out.WriteString(v.Value)
	case *types.AttributeValueMemberBOOL:
		fmt.Fprint(out, v.Value)
	case *types.AttributeValueMemberSS:
		fmt.Fprintf(out, "SS%q", v.Value)
	case *types.AttributeValueMemberNS:
		fmt.Fprintf(out, "NS%v", v.Value)
	}
}
