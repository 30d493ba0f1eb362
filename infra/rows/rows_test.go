package rows

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestTheFirstThingThatIsWrongIsKept(t *testing.T) {
	f := Fields{Item: map[string]types.AttributeValue{
		"name":  &types.AttributeValueMemberS{Value: "moutai"},
		"stock": &types.AttributeValueMemberN{Value: "-3"},
		"share": &types.AttributeValueMemberN{Value: "0.5"},
	}}
	if f.Text("name") != "moutai" || f.Number("stock") != -3 || f.Problem != "" {
		t.Errorf("read %+v", f)
	}
	f.Number("share")
	f.Text("stock")
	f.Number("missing")
	if want := "share is not an integer"; f.Problem != want {
		t.Errorf("the problem is %q, want %q", f.Problem, want)
	}
	for wrong, read := range map[string]func(*Fields){
		"stock is not a string":   func(f *Fields) { f.Text("stock") },
		"missing is not a number": func(f *Fields) { f.Number("missing") },
	} {
		again := Fields{Item: f.Item}
		if read(&again); again.Problem != wrong {
			t.Errorf("the problem is %q, want %q", again.Problem, wrong)
		}
	}
}
