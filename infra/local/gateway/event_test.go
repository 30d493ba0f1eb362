package gateway

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func decodeAny(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return v
}

func TestTheEventHasTheShapeOfPayloadFormat2(t *testing.T) {
	golden, err := os.ReadFile("testdata/event.json")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeInvoker{response: `{"statusCode":200}`}
	h := newGateway(t,
		[]Route{{Method: "POST", Path: "/sales/{saleId}/orders", Function: "Purchase", Authorizer: testJWT()}},
		f, Options{APIID: "abc123"})
	r := httptest.NewRequest(http.MethodPost, "/sales/mou%20tai/orders?a=1&a=2%2C3&b=x+y&c", strings.NewReader(`{"a":"<&"}`))
	r.Host = "api.example:3000"
	token := goodToken(t, nil)
	r.Header = http.Header{
		"Accept":          {"application/json", "text/plain"},
		"Authorization":   {"Bearer " + token},
		"Connection":      {"keep-alive"},
		"Content-Type":    {"application/json"},
		"Cookie":          {"one=1; two=2", "three=3"},
		"User-Agent":      {"test/1"},
		"X-Forwarded-For": {"203.0.113.9"},
	}
	w := serve(h, r)
	if w.Code != http.StatusOK || len(f.payloads) != 1 || f.functions[0] != "Purchase" {
		t.Fatalf("answer %d %s after invoking %v", w.Code, w.Body, f.functions)
	}
	want := strings.NewReplacer("TOKEN", token, "REQUEST", w.Header().Get("Apigw-Requestid")).Replace(string(golden))
	if diff := cmp.Diff(decodeAny(t, []byte(want)), decodeAny(t, f.payloads[0])); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	// The very text of the body also survives the types that functions decode with.
	if got := f.event(t).Body; got != `{"a":"<&"}` {
		t.Errorf("body is %s", got)
	}
}

func TestAnEventOfAPublicRouteWithoutBodyIsBare(t *testing.T) {
	f := &fakeInvoker{response: `{"statusCode":200}`}
	h := newGateway(t, routes("GET /a/{b}"), f, Options{})
	serve(h, httptest.NewRequest(http.MethodGet, "/a/b", nil))
	got := decodeAny(t, f.payloads[0])
	for _, absent := range []string{"body", "cookies", "queryStringParameters", "stageVariables"} {
		if value, ok := got[absent]; ok {
			t.Errorf("the event has %s: %v", absent, value)
		}
	}
	context := got["requestContext"].(map[string]any)
	for _, absent := range []string{"authorizer", "authentication"} {
		if value, ok := context[absent]; ok {
			t.Errorf("the request context has %s: %v", absent, value)
		}
	}
	if got["routeKey"] != "GET /a/{b}" || context["apiId"] != "local" || context["accountId"] != "000000000000" {
		t.Errorf("event is %s", f.payloads[0])
	}
}

func TestBodiesAreTextOrBase64ByContentType(t *testing.T) {
	for _, c := range []struct {
		contentType, body string
		base64            bool
	}{
		{"application/json; charset=utf-8", `{"a":"秒"}`, false},
		{"APPLICATION/JSON", `{}`, false},
		{"application/merge-patch+json", `{}`, false},
		{"text/plain", "hello", false},
		{"", "hello", false},
		{"application/json", "\xff\xfe", true},
		{"", "\xff\xfe", true},
		{"application/octet-stream", "hello", true},
		{"application/x-www-form-urlencoded", "a=1", true},
		{"nonsense;;", "hello", true},
	} {
		t.Run(c.contentType+" "+c.body, func(t *testing.T) {
			f := &fakeInvoker{response: `{"statusCode":200}`}
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
			r.Header.Set("Content-Type", c.contentType)
			serve(newGateway(t, routes("POST /"), f, Options{}), r)
			e := f.event(t)
			want := c.body
			if c.base64 {
				want = base64.StdEncoding.EncodeToString([]byte(c.body))
			}
			if e.Body != want || e.IsBase64Encoded != c.base64 {
				t.Errorf("body %q base64 %v, want %q %v", e.Body, e.IsBase64Encoded, want, c.base64)
			}
		})
	}
}
