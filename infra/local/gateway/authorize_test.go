package gateway

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
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

// guarded is one API with a public route, a protected one, and one that wants a scope.
func guarded() []Route {
	return []Route{
		{Method: "GET", Path: "/public", Function: "Public"},
		{Method: "GET", Path: "/private", Function: "Private", Authorizer: testJWT()},
		{Method: "GET", Path: "/scoped", Function: "Scoped", Authorizer: testJWT(), Scopes: []string{"buy", "admin"}},
	}
}

// Which route has an authorizer is tested in infra/proof/system.
func TestARequestWithoutAValidTokenIsRefusedAndSaysWhatIsWrong(t *testing.T) {
	mallory, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&testKey().PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	now, good := testTime.Unix(), goodToken(t, nil)
	parts := strings.Split(good, ".")
	claiming := func(name string, value any) []string {
		return []string{"Bearer " + goodToken(t, map[string]any{name: value})}
	}
	rs, none := jwt.SigningMethodRS256, jwt.SigningMethodNone
	with := func(method jwt.SigningMethod, key any, kid string) []string {
		return []string{signed(t, method, key, kid, goodClaims(nil))}
	}
	const key, signature, malformed = "the token has an unknown key", "the token has an invalid algorithm or signature", "the token is malformed"
	const issuer, audience, invalid = "the token does not have a valid issuer", "the token does not have a valid audience", "the token has invalid claims"
	for _, c := range []struct {
		name          string
		authorization []string
		why           string // empty for a request without a token
	}{
		{"nothing", nil, ""}, {"an empty header", []string{""}, ""}, {"only a scheme", []string{"Bearer "}, ""},
		{"two headers", []string{"Bearer " + good, "Bearer " + good}, ""},
		{"a password", []string{"Basic YWxpY2U6c2VjcmV0"}, malformed},
		{"two tokens", []string{"Bearer " + good + "," + good}, malformed},
		{"no signature", []string{parts[0] + "." + parts[1] + "."}, signature},
		{"another user under the signature", []string{parts[0] + "." + strings.Split(goodToken(t, map[string]any{"sub": "victim"}), ".")[1] + "." + parts[2]}, signature},
		{"another key under the issuer's key id", with(rs, mallory, testKid), signature},
		{"an unknown key id", with(rs, testKey(), "another"), key},
		{"no key id", with(rs, testKey(), ""), key},
		{"the algorithm none", with(none, jwt.UnsafeAllowNoneSignatureType, testKid), signature},
		{"the public key as a shared secret", with(jwt.SigningMethodHS256, public, testKid), signature},
		{"another algorithm of the issuer's key", with(jwt.SigningMethodPS256, testKey(), testKid), signature},
		{"another issuer", claiming("iss", testIssuer+"/"), issuer}, {"no issuer", claiming("iss", nil), invalid},
		{"another audience", claiming("aud", testAudience+"-2"), audience}, {"no audience", claiming("aud", nil), audience},
		{"an audience that is null", claiming("aud", json.RawMessage("null")), audience},
		{"expiry this very second", claiming("exp", now), "the token has expired"}, {"no expiry", claiming("exp", nil), invalid},
		{"an expiry that is text", claiming("exp", "4102444800"), invalid},
		{"a future beginning", claiming("nbf", now+1), "the token is not valid yet"}, {"a future issue", claiming("iat", now+1), "the token is not valid yet"},
	} {
		for path, scopes := range map[string]string{"/private": "", "/scoped": "buy admin"} {
			f := &fakeInvoker{response: `{"statusCode":200}`}
			r := request("GET", path+"?access_token="+good, "")
			r.Header["Authorization"] = c.authorization
			w := serve(newGateway(guarded(), f, Options{}), r)
			wantMessage(t, w, http.StatusUnauthorized, "Unauthorized")
			want := "Bearer"
			if c.why != "" {
				want = fmt.Sprintf(`Bearer scope="%s" error="invalid_token" error_description="%s"`, scopes, c.why)
			}
			if got := w.Header().Get("Www-Authenticate"); got != want || len(f.functions) != 0 {
				t.Errorf("%s: %d invocations, challenge %s, want %s", c.name, len(f.functions), got, want)
			}
		}
	}
}

func TestClaimsReachTheFunctionAsText(t *testing.T) {
	f := &fakeInvoker{response: `{"statusCode":200}`}
	token := goodToken(t, map[string]any{
		"scope": "read buy", "admin": true, "groups": []any{"a", 1, false}, "level": 1.5, "big": uint64(1<<63 + 1), "null": json.RawMessage("null"),
	})
	serve(newGateway(guarded(), f, Options{}), request("GET", "/scoped", "", "Authorization", token))
	got := f.event(t).RequestContext.Authorizer.JWT
	now := fmt.Sprint(testTime.Unix())
	want := map[string]string{
		"iss": testIssuer, "sub": "alice", "aud": testAudience, "iat": now, "nbf": now, "exp": fmt.Sprint(testTime.Unix() + 1),
		"scope": "read buy", "admin": "true", "groups": "[a 1 false]", "level": "1.5", "big": "9223372036854775809",
	}
	if diff := cmp.Diff(want, got.Claims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"buy"}, got.Scopes); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
}
