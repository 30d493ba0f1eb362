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
		`{"s":{"S":""},"n":{"N":"-7"},"yes":{"BOOL":true},"no":{"BOOL":false},"set":{"NS":["1","2"]},"texts":{"SS":["a","b"]}}`: {
			"s": &types.AttributeValueMemberS{}, "n": &types.AttributeValueMemberN{Value: "-7"},
			"yes": &types.AttributeValueMemberBOOL{Value: true}, "no": &types.AttributeValueMemberBOOL{},
			"set":   &types.AttributeValueMemberNS{Value: []string{"1", "2"}},
			"texts": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
		},
		`{"b":{"B":"AA=="},"l":{"L":[]},"m":{"M":{"S":{"S":"x"}}},"null":{"NULL":true},"bs":{"BS":["AA=="]},"none":{}}`: {
			"b": null, "l": null, "m": null, "null": null, "bs": null, "none": null,
		},
		`{}`:   {},
		`null`: nil,
	} {
		var got ledger.Image
		err := json.Unmarshal([]byte(text), &got)
		unexported := cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberBOOL{},
			types.AttributeValueMemberNS{}, types.AttributeValueMemberSS{}, types.AttributeValueMemberNULL{})
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
