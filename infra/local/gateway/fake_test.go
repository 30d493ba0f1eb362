package gateway

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/golang-jwt/jwt/v5"
)

const (
	testIssuer   = "https://issuer.example"
	testAudience = "flashsale"
	testKid      = "key-1"
)

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)

func testNow() time.Time { return testTime }

var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func testJWT() *JWT {
	return &JWT{Issuer: testIssuer, Audience: []string{testAudience, "second"}, Keys: func(kid string) (*rsa.PublicKey, error) {
		if kid != testKid {
			return nil, errors.New("unknown key")
		}
		return &testKey().PublicKey, nil
	}}
}

// goodClaims are accepted; a nil value in change leaves the claim out.
func goodClaims(change map[string]any) jwt.MapClaims {
	claims := jwt.MapClaims{
		"iss": testIssuer, "sub": "alice", "aud": testAudience,
		"iat": testTime.Unix(), "nbf": testTime.Unix(), "exp": testTime.Unix() + 1,
	}
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

func signed(t *testing.T, method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatalf("sign: %v", err)
	}
	return text
}

func goodToken(t *testing.T, change map[string]any) string {
	t.Helper()
	return signed(t, jwt.SigningMethodRS256, testKey(), testKid, goodClaims(change))
}

// fakeInvoker records what it was invoked with.
type fakeInvoker struct {
	response      string
	functionError string
	err           error

	mu        sync.Mutex
	functions []string
	payloads  [][]byte
}

func (f *fakeInvoker) Invoke(_ context.Context, function string, payload []byte) ([]byte, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.functions = append(f.functions, function)
	f.payloads = append(f.payloads, payload)
	return []byte(f.response), f.functionError, f.err
}

// event decodes the last payload as a function does.
func (f *fakeInvoker) event(t *testing.T) events.APIGatewayV2HTTPRequest {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.payloads) == 0 {
		t.Fatal("the function was not invoked")
	}
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(f.payloads[len(f.payloads)-1], &e); err != nil {
		t.Fatalf("decode event: %v", err)
	}
	return e
}

func newGateway(t *testing.T, routes []Route, invoker Invoker, o Options) http.Handler {
	t.Helper()
	if o.Now == nil {
		o.Now = testNow
	}
	return New(routes, invoker, o)
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// wantMessage checks an answer that the gateway gives itself.
func wantMessage(t *testing.T, w *httptest.ResponseRecorder, status int, message string) {
	t.Helper()
	if want := `{"message":"` + message + `"}`; w.Code != status || w.Body.String() != want {
		t.Errorf("answer %d %s, want %d %s", w.Code, w.Body, status, want)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type is %q, want application/json", got)
	}
	if w.Header().Get("Apigw-Requestid") == "" {
		t.Error("the answer has no apigw-requestid")
	}
}
