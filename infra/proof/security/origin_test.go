package security

import (
	"net/http"
	"strings"
	"testing"

	"flashsale/infra/local/stack"
)

// With a front before the API, requests sent directly to the API would bypass the
// front's rate rule. The front's header proves that a request came through it.
func TestWithAFrontWhoGoesAroundItIsTurnedAway(t *testing.T) {
	secret := strings.Repeat("f9Q", 12)
	s := own(t, rootOf(t), stack.Options{NoPollers: true, Parameters: map[string]string{"OriginSecret": secret, "CreateFront": "own"}})
	s.secrets[secret] = true // no log line may contain it
	s.openSale(t, "fronted", 1)
	before := s.books(t)
	alice := bearer(s.token("alice"))
	calls := []struct{ method, path string }{
		{http.MethodGet, "/sales/fronted"}, {http.MethodGet, "/sales/fronted/orders/me"}, {http.MethodPost, "/sales/fronted/orders"},
		{http.MethodGet, "/s/fronted"}, {http.MethodGet, "/signin"}, {http.MethodGet, "/assets/page.0123456789abcdef.js"},
	}
	for name, headers := range map[string][]pair{
		"without the header":          {alice},
		"with an empty one":           {alice, {"X-Origin-Verify", ""}},
		"with another secret":         {alice, {"X-Origin-Verify", strings.Repeat("f9R", 12)}},
		"with part of the secret":     {alice, {"X-Origin-Verify", secret[:len(secret)-1]}},
		"with the secret and more":    {alice, {"X-Origin-Verify", secret + "x"}},
		"with the secret twice":       {alice, {"X-Origin-Verify", secret}, {"X-Origin-Verify", secret}},
		"with the secret in a cookie": {alice, {"Cookie", "X-Origin-Verify=" + secret}},
	} {
		for _, c := range calls {
			a := s.must(t, c.method, c.path, "", headers...)
			if a.status != http.StatusForbidden || !strings.Contains(a.raw, `"code":"forbidden"`) || strings.Contains(a.raw, secret) {
				t.Errorf("%s %s %s: %v, want 403 forbidden", c.method, c.path, name, a)
			}
		}
	}
	s.unchanged(t, before)
	for _, c := range calls {
		if a := s.must(t, c.method, c.path, "", alice, pair{"x-origin-verify", secret}); a.status == http.StatusForbidden {
			t.Errorf("%s %s through the front: %v", c.method, c.path, a)
		}
	}
	if a := s.must(t, http.MethodPost, "/sales/fronted/orders", "", alice, pair{"X-Origin-Verify", secret}); a.status != http.StatusConflict {
		t.Errorf("a second purchase through the front: %v, want already-ordered", a)
	}
}
