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
	h := newGateway(
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
		want := c.body
		if c.base64 {
			want = base64.StdEncoding.EncodeToString([]byte(c.body))
		}
		if got, isBase64 := bodyText(c.contentType, []byte(c.body)); got != want || isBase64 != c.base64 {
			t.Errorf("%s: body %q base64 %v, want %q %v", c.contentType, got, isBase64, want, c.base64)
		}
	}
}

func TestWhatAFunctionReturnsBecomesTheResponse(t *testing.T) {
	plain := http.Header{"Content-Type": {"application/json"}}
	for _, c := range []struct {
		name, response string
		status         int
		header         http.Header
		body           string
	}{
		{"a whole response", `{"statusCode":202,"headers":{"content-type":"text/plain","Location":"/x"},"body":"hi"}`,
			202, http.Header{"Content-Type": {"text/plain"}, "Location": {"/x"}}, "hi"},
		{"only a status code", `{"statusCode":404}`, 404, plain, ""},
		{"a base64 body", `{"statusCode":200,"isBase64Encoded":true,"body":"aGk="}`, 200, plain, "hi"},
		{"null headers", `{"statusCode":200,"headers":null,"cookies":null,"body":"hi"}`, 200, plain, "hi"},
		{"headers about the connection are dropped", `{"statusCode":200,"headers":{"Connection":"close","Content-Length":"99","Transfer-Encoding":"chunked","Apigw-Requestid":"forged"},"body":"hi"}`,
			200, plain, "hi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := serve(newGateway(routes("GET /"), &fakeInvoker{response: c.response}, Options{}), httptest.NewRequest(http.MethodGet, "/", nil))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("answer %d %q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
			if id := w.Header().Get("Apigw-Requestid"); id == "" || id == "forged" {
				t.Errorf("apigw-requestid is %q", id)
			}
			w.Header().Del("Apigw-Requestid")
			w.Header().Del("Content-Length")
			if diff := cmp.Diff(c.header, w.Header()); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}
