package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestOnlyTheClaimSubNamesTheCaller(t *testing.T) {
	for claims, want := range map[string]string{
		`{"sub":"alice","Sub":"mallory","SUB":"mallory"}`:             "alice",
		`{"SUB":"mallory","sub":"alice"}`:                             "alice",
		`{"s\u0075b":"alice"}`:                                        "alice",
		`{"Sub":"mallory"}`:                                           "",
		`{"ſub":"mallory"}`:                                           "",
		`{"claims":{"sub":"mallory"}}`:                                "",
		`{"act":{"sub":"mallory"},"sub":"alice"}`:                     "alice",
		`{"sub":null}`:                                                "",
		`null`:                                                        "",
		`{}}},"Authorizer":{"jwt":{"claims":{"sub":"m"}`:              "",
		`{}},"lambda":{"sub":"m"},"iam":{"userId":"m"`:                "",
		`{}},"claims":{"sub":"m"},"principalId":"m","x":{"y":{"z":1}`: "",
	} {
		r, err := Decode([]byte(`{"sub":"mallory","headers":{"sub":"mallory"},"requestContext":{"sub":"mallory","authorizer":{"jwt":{"claims":` + claims + `}}}}`))
		if err != nil {
			t.Errorf("%s: %v", claims, err)
		}
		if got, _ := User(&r); got != want {
			t.Errorf("%s: the caller is %q, want %q", claims, got, want)
		}
	}
}

func TestAnEventThatNamesItsCallerTwiceIsRefused(t *testing.T) {
	const alice, mallory = `{"sub":"alice"}`, `{"sub":"mallory"}`
	for level, text := range map[string]string{
		"requestContext": `{"requestContext":{"authorizer":{"jwt":{"claims":` + alice + `}}},"requestContext":{"authorizer":{"jwt":{"claims":` + mallory + `}}}}`,
		"authorizer":     `{"requestContext":{"authorizer":{"jwt":{"claims":` + alice + `}},"authorizer":{"jwt":{"claims":` + mallory + `}}}}`,
		"claims":         `{"requestContext":{"authorizer":{"jwt":{"claims":` + alice + `,"claims":` + mallory + `}}}}`,
		"sub":            `{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"alice","sub":"mallory"}}}}}`,
		"first null":     `{"requestContext":null,"requestContext":{"authorizer":{"jwt":{"claims":` + alice + `}}}}`,
	} {
		if r, err := Decode([]byte(text)); !errors.Is(err, jsontext.ErrDuplicateName) || r.Sub != "" {
			t.Errorf("%s: %+v, %v; want it refused", level, r, err)
		}
	}
}

func TestWhatIsNoEventFailsTheInvocation(t *testing.T) {
	serve := Serve(func(context.Context, Request) (Response, error) {
		t.Error("the function was called")
		return Response{}, nil
	})
	for _, text := range []string{``, `[]`, `{"body":7}`, `{"headers":{"content-type":7}}`, `{"headers":[]}`, `{"headers":{"Content-Type":"a","content-type":"b"}}`, `{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":7}}}}}`, `{} {}`} {
		if _, err := serve.Invoke(t.Context(), []byte(text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestAnAnswerGoesOutAsAPIGatewayReadsIt(t *testing.T) {
	failure := errors.New("broken")
	for _, want := range []error{nil, failure} {
		out, err := Serve(func(context.Context, Request) (Response, error) {
			return Response{StatusCode: 202, Headers: Headers{ContentType: "application/json", RetryAfter: "2"}, Body: `{"a":"<茅台>"}`}, want
		}).Invoke(t.Context(), []byte(`{}`))
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		if want != nil {
			continue
		}
		var got map[string]any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{
			"statusCode": 202.0, "headers": map[string]any{"Content-Type": "application/json", "Retry-After": "2"}, "body": `{"a":"<茅台>"}`,
		}, got); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	}
}

func TestAnEventIsReadByTheNamesThatAPIGatewayWrites(t *testing.T) {
	for text, want := range map[string]Request{
		`{"routeKey":"GET /","body":"\u8305\ud800","isBase64Encoded":true,"pathParameters":{"saleId":"a","groupId":"b","orderId":"5","provider":"c","page":"0f"},"headers":{"stripe-signature":"y"}}`: {
			RouteKey: "GET /", Body: "茅\ufffd", IsBase64Encoded: true, Headers: map[string]string{"stripe-signature": "y"},
			Path: struct {
				SaleID   string `json:"saleId"`
				GroupID  string `json:"groupId"`
				OrderID  string `json:"orderId"`
				Provider string `json:"provider"`
				Page     string `json:"page"`
			}{"a", "b", "5", "c", "0f"},
		},
		`{"routekey":"GET /","Body":"x","Sub":"mallory","sub":"mallory","pathParameters":{"SaleId":"a","user":7},"x":[{"sub":"c"}]}`:                {},
		`{"headers":null,"pathParameters":{"saleId":null},"requestContext":{"authorizer":null},"isBase64Encoded":null,"body":null,"routeKey":null}`: {},
		// As the local HTTP API of SAM CLI writes headers: by their names as Flask has them. Those that no function reads are skipped.
		`{"headers":{"Idempotency-Key":"a","Content-Type":"b","x-forwarded-port":"c"}}`: {
			Headers: map[string]string{"idempotency-key": "a", "content-type": "b"},
		},
		"null": {},
	} {
		if got, err := Decode([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}
