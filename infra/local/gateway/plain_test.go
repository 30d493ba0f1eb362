package gateway

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The one-pass reader must agree with decodeResponse.
func FuzzAPlainResponseIsReadAsAnyOther(f *testing.F) {
	for _, payload := range []string{
		`{"statusCode":202,"headers":{"Content-Type":"application/json"},"body":"{}"}`,
		`{"statusCode":200,"multiValueHeaders":{"A":["b","c"]},"cookies":["a=b"],"isBase64Encoded":true,"body":"YQ=="}`,
		`{"statusCode":200,"Body":"x"}`, `{"statusCode":200,"body":"x","body":"y"}`, `{"statusCode":200,"other":1}`,
		`{"statusCode":null}`, `{"StatusCode":200}`, `{"statusCode":200,"headers":{"A":null},"body":null}`,
		`{"statusCode":2e2}`, `{"statusCode":"200"}`, `{"statusCode":200,"body":"\ud800"}`, "{\"statusCode\":200,\"body\":\"\xff\"}",
		`[]`, `null`, ``,
	} {
		f.Add([]byte(payload))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		got, ok := decodePlain(payload)
		if !ok {
			return
		}
		var fields map[string]json.RawMessage
		var want events.APIGatewayV2HTTPResponse
		if err := json.Unmarshal(payload, &fields); err != nil || fields["statusCode"] == nil {
			t.Fatalf("%q was read although it is no response: %v", payload, err)
		}
		if err := json.Unmarshal(payload, &want); err != nil {
			t.Fatalf("%q was read although it is no response: %v", payload, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", payload, diff)
		}
	})
}

func TestWhatIsNotPlainIsLeftToTheLongerWay(t *testing.T) {
	for payload, want := range map[string]bool{
		`{"statusCode":202,"headers":{"A":"b"},"body":"{}"}`: true,
		`{"statusCode":202,"Headers":{"A":"b"}}`:             false,
		`{"statusCode":202,"body":"a","body":"b"}`:           false,
		`{"StatusCode":202}`:                                 false,
		`{"statusCode":202,"other":1}`:                       false,
	} {
		if _, ok := decodePlain([]byte(payload)); ok != want {
			t.Errorf("%s: plain is %v, want %v", payload, ok, want)
		}
	}
}
