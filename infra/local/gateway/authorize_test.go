package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/infra/local/issuer"

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
		{"an empty scope", []string{with(map[string]any{"scope": ""})}, accepted, forbidden},
		{"the scope in capitals", []string{with(map[string]any{"scope": "BUY"})}, accepted, forbidden},
		{"commas between its scopes", []string{with(map[string]any{"scope": "read,buy"})}, accepted, forbidden},
		{"the scope as a permission", []string{with(map[string]any{"permissions": []string{"buy"}})}, accepted, forbidden},
		{"the scope in an object", []string{with(map[string]any{"scope": map[string]any{"buy": true}})}, accepted, forbidden},
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
				if want != accepted && (len(f.functions) != 0 || !strings.HasPrefix(challenge, "Bearer")) {
					t.Errorf("%s: %d invocations, challenge %q", path, len(f.functions), challenge)
				}
			}
		})
	}
}

func TestTheChallengeSaysWhatIsWrong(t *testing.T) {
	h := newGateway(t, guarded(), &fakeInvoker{}, Options{})
	for _, c := range []struct{ name, path, authorization, want string }{
		{"no token", "/private", "", "Bearer"},
		{"no valid audience", "/private", goodToken(t, map[string]any{"aud": "x"}),
			`Bearer scope="" error="invalid_token" error_description="the token does not have a valid audience"`},
		{"an expired token for a route with scopes", "/scoped", goodToken(t, map[string]any{"exp": 1}),
			`Bearer scope="buy admin" error="invalid_token" error_description="the token has expired"`},
		{"a missing scope", "/scoped", goodToken(t, nil),
			`Bearer scope="buy admin" error="insufficient_scope" error_description="the token does not have a required scope"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			r.Header.Set("Authorization", c.authorization)
			if got := serve(h, r).Header().Get("Www-Authenticate"); got != c.want {
				t.Errorf("www-authenticate is %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestClaimsReachTheFunctionAsText(t *testing.T) {
	f := &fakeInvoker{response: `{"statusCode":200}`}
	h := newGateway(t, guarded(), f, Options{})
	r := httptest.NewRequest(http.MethodGet, "/scoped", nil)
	r.Header.Set("Authorization", goodToken(t, map[string]any{
		"scope": "read buy", "admin": true, "groups": []any{"a", 1, false}, "level": 1.5, "big": uint64(1<<63 + 1),
		"far": 1e21, "empty": "",
	}))
	if w := serve(h, r); w.Code != http.StatusOK {
		t.Fatalf("answer %d %s", w.Code, w.Body)
	}
	got := f.event(t).RequestContext.Authorizer.JWT
	now := fmt.Sprint(testTime.Unix())
	want := map[string]string{
		"iss": testIssuer, "sub": "alice", "aud": testAudience, "iat": now, "nbf": now, "exp": fmt.Sprint(testTime.Unix() + 1),
		"scope": "read buy", "admin": "true", "groups": "[a 1 false]", "level": "1.5", "big": "9223372036854775809",
		"far": "1000000000000000000000", "empty": "",
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
