package gateway

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/infra/local/issuer"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

// guarded is one API with a public route, a protected one, and one that wants a scope.
func guarded() []Route {
	return []Route{
		{Method: "GET", Path: "/public", Function: "Public"},
		{Method: "GET", Path: "/private", Function: "Private", Authorizer: testJWT()},
		{Method: "GET", Path: "/scoped", Function: "Scoped", Authorizer: testJWT(), Scopes: []string{"buy", "admin"}},
	}
}

func TestGoodTokensOpenTheRoutesWhoseScopesTheyHave(t *testing.T) {
	good := goodToken(t, nil)
	with := func(change map[string]any) string { return "Bearer " + goodToken(t, change) }

	const accepted, forbidden = http.StatusOK, http.StatusForbidden
	for _, c := range []struct {
		name            string
		authorization   []string
		private, scoped int
	}{
		{"a valid token", []string{"Bearer " + good}, accepted, forbidden},
		{"a valid token without the scheme", []string{good}, accepted, forbidden},
		{"a scheme in other letters", []string{"bEARER  " + good + " "}, accepted, forbidden},
		{"one of several audiences", []string{with(map[string]any{"aud": []string{"x", "second"}})}, accepted, forbidden},
		{"a client id instead of an audience", []string{with(map[string]any{"aud": nil, "client_id": testAudience})}, accepted, forbidden},
		{"one required scope", []string{with(map[string]any{"scope": "read buy"})}, accepted, accepted},
		{"one required scp", []string{with(map[string]any{"scp": []string{"admin"}})}, accepted, accepted},
		{"scp beside another scope", []string{with(map[string]any{"scope": "read", "scp": "buy"})}, accepted, forbidden},
		{"a scope that only begins alike", []string{with(map[string]any{"scope": "buyer buy.all"})}, accepted, forbidden},
		{"the scope in capitals", []string{with(map[string]any{"scope": "BUY"})}, accepted, forbidden},
		{"no nbf and no iat", []string{with(map[string]any{"nbf": nil, "iat": nil})}, accepted, forbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			for path, want := range map[string]int{"/public": accepted, "/private": c.private, "/scoped": c.scoped} {
				f := &fakeInvoker{response: `{"statusCode":200}`}
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Header["Authorization"] = c.authorization
				w := serve(newGateway(t, guarded(), f, Options{}), r)
				challenge := w.Header().Get("Www-Authenticate")
				switch want {
				case accepted:
					if w.Code != http.StatusOK || len(f.functions) != 1 {
						t.Errorf("%s: answer %d %s, %d invocations", path, w.Code, w.Body, len(f.functions))
					}
					if protected := f.event(t).RequestContext.Authorizer != nil; protected != (path != "/public") {
						t.Errorf("%s: the event has claims: %v", path, protected)
					}
				case forbidden:
					wantMessage(t, w, forbidden, "Forbidden")
				}
				if want != accepted && (len(f.functions) != 0 || challenge != `Bearer scope="buy admin" error="insufficient_scope" error_description="the token does not have a required scope"`) {
					t.Errorf("%s: %d invocations, challenge %q", path, len(f.functions), challenge)
				}
			}
		})
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
			r := httptest.NewRequest(http.MethodGet, path+"?access_token="+good, nil)
			r.Header["Authorization"] = c.authorization
			w := serve(newGateway(t, guarded(), f, Options{}), r)
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
	h := newGateway(t, guarded(), f, Options{})
	r := httptest.NewRequest(http.MethodGet, "/scoped", nil)
	r.Header.Set("Authorization", goodToken(t, map[string]any{
		"scope": "read buy", "admin": true, "groups": []any{"a", 1, false}, "level": 1.5, "big": uint64(1<<63 + 1),
		"empty": "",
	}))
	if w := serve(h, r); w.Code != http.StatusOK {
		t.Fatalf("answer %d %s", w.Code, w.Body)
	}
	got := f.event(t).RequestContext.Authorizer.JWT
	now := fmt.Sprint(testTime.Unix())
	want := map[string]string{
		"iss": testIssuer, "sub": "alice", "aud": testAudience, "iat": now, "nbf": now, "exp": fmt.Sprint(testTime.Unix() + 1),
		"scope": "read buy", "admin": "true", "groups": "[a 1 false]", "level": "1.5", "big": "9223372036854775809",
		"empty": "",
	}
	if diff := cmp.Diff(want, got.Claims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"buy"}, got.Scopes); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	t.Run("a claim that is null is left out", func(t *testing.T) {
		if got := claimTexts(map[string]any{"sub": nil}); len(got) != 0 {
			t.Errorf("claims %v", got)
		}
	})
}

func TestATokenOfTheDevelopmentIssuerIsAccepted(t *testing.T) {
	i, err := issuer.Open("", issuer.Options{URL: testIssuer, Audience: testAudience, Now: testNow})
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeInvoker{response: `{"statusCode":200}`}
	authorizer := &JWT{Issuer: testIssuer, Audience: []string{testAudience}, Keys: i.Key}
	h := newGateway(t, []Route{{Method: "GET", Path: "/", Function: "F", Authorizer: authorizer}}, f, Options{})
	for ttl, want := range map[time.Duration]int{time.Second: http.StatusOK, 0: http.StatusUnauthorized} {
		token, err := i.Token(issuer.Claims{Subject: "alice", TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		if w := serve(h, r); w.Code != want {
			t.Errorf("a token for %v: answer %d %s, want %d", ttl, w.Code, w.Body, want)
		}
	}
	if sub := f.event(t).RequestContext.Authorizer.JWT.Claims["sub"]; sub != "alice" {
		t.Errorf("sub is %q", sub)
	}
}
