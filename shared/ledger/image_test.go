package ledger_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"flashsale/shared/ledger"
)

func TestAnImageIsReadAsTheStreamWritesIt(t *testing.T) {
	null := &types.AttributeValueMemberNULL{Value: true}
	for text, want := range map[string]ledger.Image{
		`{"s":{"S":""},"n":{"N":"-7"},"yes":{"BOOL":true},"no":{"BOOL":false},"set":{"NS":["1","2"]}}`: {
			"s": &types.AttributeValueMemberS{}, "n": &types.AttributeValueMemberN{Value: "-7"},
			"yes": &types.AttributeValueMemberBOOL{Value: true}, "no": &types.AttributeValueMemberBOOL{},
			"set": &types.AttributeValueMemberNS{Value: []string{"1", "2"}},
		},
		`{"b":{"B":"AA=="},"l":{"L":[]},"m":{"M":{"S":{"S":"x"}}},"null":{"NULL":true},"ss":{"SS":["a"]},"none":{}}`: {
			"b": null, "l": null, "m": null, "null": null, "ss": null, "none": null,
		},
		`{}`:   {},
		`null`: nil,
	} {
		var got ledger.Image
		err := json.Unmarshal([]byte(text), &got)
		unexported := cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberBOOL{},
			types.AttributeValueMemberNS{}, types.AttributeValueMemberNULL{})
		if diff := cmp.Diff(want, got, unexported); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{`[]`, `{"s":"x"}`, `{"n":{"N":7}}`, `{"set":{"NS":"1"}}`} {
		var got ledger.Image
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is %v", text, got)
		}
	}
}
