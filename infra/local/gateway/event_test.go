package gateway

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/local/template"
)

// invoked is the payload of the last invocation, all of which are answered with 200.
type invoked []byte

func (p *invoked) Invoke(_ context.Context, _ string, payload []byte) ([]byte, string, error) {
	*p = payload
	return []byte(`{"statusCode":200}`), "", nil
}

func TestTheEventHasTheShapeOfPayloadFormat2(t *testing.T) {
	golden, err := os.ReadFile("testdata/event.json")
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)
	signing := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": "https://issuer.example", "sub": "alice", "aud": "flashsale", "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Unix() + 1,
		"cognito:groups": []string{"a", "b"}, "level": 1.5, "null": nil,
	})
	signing.Header["kid"] = "key-1"
	token, err := signing.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	authorizer := &JWT{
		Issuer: "https://issuer.example", Audience: []string{"flashsale"}, Keys: func(string) (*rsa.PublicKey, error) { return &key.PublicKey, nil },
	}
	var payload invoked
	h := New([]Route{{template.Route{Method: "POST", Path: "/sales/{saleId}/orders", Function: "Purchase"}, authorizer}}, &payload,
		Options{APIID: "abc123", Now: func() time.Time { return now }})
	r := httptest.NewRequest(http.MethodPost, "/sales/mou%20tai/orders?a=1&a=2%2C3&b=x+y&c", strings.NewReader(`{"a":"<&"}`))
	r.Host = "api.example:3000"
	r.Header = http.Header{
		"Accept": {"application/json", "text/plain"}, "Authorization": {"Bearer " + token}, "Connection": {"keep-alive"},
		"Content-Type": {"application/json"}, "Cookie": {"one=1; two=2", "three=3"}, "User-Agent": {"test/1"}, "X-Forwarded-For": {"203.0.113.9"},
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("answer %d %s", w.Code, w.Body)
	}
	text := strings.NewReplacer("TOKEN", token, "REQUEST", w.Header().Get("Apigw-Requestid")).Replace(string(golden))
	var want, got map[string]any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(payload, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func TestBodiesAreTextOrBase64ByContentType(t *testing.T) {
	for _, c := range []struct {
		contentType, body string
		base64            bool
	}{
		{"application/json; charset=utf-8", `{"a":"秒"}`, false},
		{"", "hello", false},
		{"application/json", "\xff\xfe", true},
		{"application/octet-stream", "hello", true},
		{"application/x-www-form-urlencoded", "a=1", true}, // Alipay's webhooks
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
