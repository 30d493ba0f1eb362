package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestOnlyTheClaimSubNamesTheCaller(t *testing.T) {
	for claims, want := range map[string]string{
		`{"sub":"alice","Sub":"mallory","SUB":"mallory"}`: "alice",
		`{"SUB":"mallory","sub":"alice"}`:                 "alice",
		`{"s\u0075b":"alice"}`:                            "alice",
		`{"Sub":"mallory"}`:                               "",
		`{"ſub":"mallory"}`:                               "",
		`{"username":"mallory","cognito:username":"m"}`:   "",
		`{"claims":{"sub":"mallory"}}`:                    "",
		`{"act":{"sub":"mallory"},"sub":"alice"}`:         "alice",
		`{"other":{"sub":"mallory"}}`:                     "",
		`{"sub":null}`:                                    "",
		`null`:                                            "",
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
		"jwt":            `{"requestContext":{"authorizer":{"jwt":{"claims":` + alice + `},"jwt":{"claims":` + mallory + `}}}}`,
		"claims":         `{"requestContext":{"authorizer":{"jwt":{"claims":` + alice + `,"claims":` + mallory + `}}}}`,
		"sub":            `{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"alice","sub":"mallory"}}}}}`,
		"an escaped sub": `{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"alice","s\u0075b":"mallory"}}}}}`,
		"equal subs":     `{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"alice","sub":"alice"}}}}}`,
		"first null":     `{"requestContext":null,"requestContext":{"authorizer":{"jwt":{"claims":` + alice + `}}}}`,
		"last null":      `{"requestContext":{"authorizer":{"jwt":{"claims":` + alice + `},"jwt":null}}}`,
	} {
		if r, err := Decode([]byte(text)); !errors.Is(err, errTwice) || r != (Request{}) {
			t.Errorf("%s: %+v, %v; want it refused", level, r, err)
		}
	}
}

func TestWhatIsNoEventFailsTheInvocation(t *testing.T) {
	serve := Serve(func(context.Context, Request) (Response, error) {
		t.Error("the function was called")
		return Response{}, nil
	})
	for _, text := range []string{``, `[]`, `{"body":7}`, `{"headers":{"content-type":7}}`, `{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":7}}}}}`, `{} {}`} {
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

// toCaller are the members on the path to the caller's identity.
var toCaller = []string{
	"/requestContext", "/requestContext/authorizer", "/requestContext/authorizer/jwt",
	"/requestContext/authorizer/jwt/claims", "/requestContext/authorizer/jwt/claims/sub",
}

func FuzzDecodeAgainstTheJSONPackage(f *testing.F) {
	for _, name := range []string{"purchase.json", "purchase-idempotent.json", "purchase-enter.json", "query-sale.json", "query-order.json"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "events", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"headers":{"Content-Type":"text/plain","IDEMPOTENCY-KEY":"k1","X-Origin-Verify":"s1",` +
		`"x-origin":"y","idempotency_key":"k2","xorigin-verify":"s2","content-typ\u0065s":"x"}}`))
	f.Add([]byte(`{"headers":{"content-type":"","idempotency-key":null}}`))
	f.Add([]byte(`{"headers":{"content-type":"\ud800"},"pathParameters":{"saleId":"a"},"isBase64Encoded":true}`))
	f.Add([]byte(`{"headers":null,"pathParameters":{"saleId":null},"requestContext":{"authorizer":null},"isBase64Encoded":null}`))
	f.Add([]byte(`{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"a","sub":"b"}}}}}`))
	f.Add([]byte(`{"requestContext":null,"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"a"}}}}}`))
	f.Add([]byte(`{"requestContext":{"authorizer":{"jwt":{"claims":{"sub":"a","s\u0075b ":"b"}}}},"x":[{"sub":"c"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want struct {
			RouteKey        string         `json:"routeKey"`
			Body            string         `json:"body"`
			IsBase64Encoded bool           `json:"isBase64Encoded"`
			Headers         map[string]any `json:"headers"`
			PathParameters  map[string]any `json:"pathParameters"`
			RequestContext  struct {
				Authorizer struct {
					JWT struct {
						Claims struct {
							Sub string `json:"sub"`
						} `json:"claims"`
					} `json:"jwt"`
				} `json:"authorizer"`
			} `json:"requestContext"`
		}
		got, err := Decode(text)
		if failed := jsonv2.Unmarshal(text, &want, jsontext.AllowInvalidUTF8(true)); failed != nil {
			// Not an event, or one with duplicate names, which Decode must refuse, too,
			// on the path to the caller's identity.
			duplicate, ok := errors.AsType[*jsontext.SyntacticError](failed)
			if ok && errors.Is(failed, jsontext.ErrDuplicateName) && slices.Contains(toCaller, string(duplicate.JSONPointer)) && err == nil {
				t.Errorf("%s names its caller twice and is %+v", text, got)
			}
			return
		}
		e := Request{RouteKey: want.RouteKey, Body: want.Body, IsBase64Encoded: want.IsBase64Encoded}
		e.Sub = want.RequestContext.Authorizer.JWT.Claims.Sub
		strange := false // of the wrong type, which fails, or in two letter cases
		take := func(to *string, value any) bool {
			s, ok := value.(string)
			strange = strange || value != nil && !ok
			*to = s
			return ok
		}
		take(&e.Path.SaleID, want.PathParameters["saleId"])
		take(&e.Path.GroupID, want.PathParameters["groupId"])
		take(&e.Path.OrderID, want.PathParameters["orderId"])
		take(&e.Path.Page, want.PathParameters["page"])
		for name, h := range map[string]*Header{"content-type": &e.ContentType, "idempotency-key": &e.IdempotencyKey, "x-origin-verify": &e.OriginVerify} {
			n := 0
			for other, value := range want.Headers {
				if len(other) == len(name) && strings.EqualFold(other, name) {
					h.Given = take(&h.Value, value)
					n++
				}
			}
			strange = strange || n > 1
		}
		if strange {
			return
		}
		if err != nil || got != e {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, e)
		}
	})
}
