package security

import (
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"flashsale/infra/local/stack"
	"flashsale/infra/local/template"
)

// refused reports whether an answer is the gateway's own 401, which gives the reason
// and quotes nothing.
func refused(a answer) bool {
	return a.status == http.StatusUnauthorized && a.raw == `{"message":"Unauthorized"}` &&
		strings.HasPrefix(a.header.Get("Www-Authenticate"), "Bearer")
}

// pathOf fills in a route's variables.
func pathOf(r template.Route, sale, order string) string {
	return strings.NewReplacer("{saleId}", sale, "{orderId}", order, "{page}", "0f").Replace(r.Path)
}

// forgeries are headers without a valid token, by what is wrong with them. The authorizer's own
// table is in infra/local/gateway; these show which routes have one.
func (s *system) forgeries(t *testing.T) map[string][]pair {
	t.Helper()
	mallory, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	now, c, h := time.Now().Unix(), s.claims("alice"), s.header()
	parts := strings.Split(s.token("alice"), ".")
	return map[string][]pair{
		"that is missing":       nil,
		"that expired":          {bearer(s.signed(c.with(fields{"exp": now - 1})))},
		"for another audience":  {bearer(s.signed(c.with(fields{"aud": "another"})))},
		"of another issuer":     {bearer(s.signed(c.with(fields{"iss": "https://evil.example"})))},
		"signed by another key": {bearer(s.forge(jwt.SigningMethodRS256, mallory, h.text(), c.text()))},
		"of the algorithm none": {bearer(s.remember(segment(h.with(fields{"alg": "none"}).text()) + "." + parts[1] + "."))},
		"with another user":     {bearer(s.remember(parts[0] + "." + segment(s.claims("victim").text()) + "." + parts[2]))},
	}
}

func TestEveryRouteRefusesForgedTokens(t *testing.T) {
	s := shared(t)
	s.openSale(t, "vault", 5)
	order := s.ordered(t, "vault", "alice")
	forgeries := s.forgeries(t)
	before := s.books(t)
	protected := 0
	for _, route := range s.routes {
		if route.Authorizer == "" {
			continue
		}
		protected++
		t.Run(route.Method+" "+route.Path, func(t *testing.T) {
			from := s.mark()
			for name, header := range forgeries {
				if a := s.must(t, route.Method, pathOf(route, "vault", order), "", header...); !refused(a) {
					t.Errorf("a token %s is answered with %v", name, a)
				}
			}
			for _, l := range s.lines(t, from, unprintable) {
				t.Errorf("%s was invoked: %s", l.function, l.text)
			}
		})
	}
	if protected < 3 {
		t.Errorf("only %d routes ask for a token", protected)
	}
	s.unchanged(t, before)
}

func TestOnlyTheSaleTheBuyersPageAndTheWebhooksArePublicAndIgnoreTokens(t *testing.T) {
	s := shared(t)
	s.openSale(t, "window", 5)
	forgeries := s.forgeries(t)
	var public []string
	for _, route := range s.routes {
		if route.Authorizer != "" {
			continue
		}
		public = append(public, route.Method+" "+route.Path)
		if route.Function == "PageFunction" {
			continue // its answers are the same for everybody
		}
		for name, header := range forgeries {
			if route.Function == "PayFunction" {
				if a := s.must(t, route.Method, "/payments/stripe", "{}", header...); a.status != http.StatusBadRequest {
					t.Errorf("with a token %s an unsigned webhook is %v", name, a)
				}
				continue
			}
			if route.Path == "/groups/{groupId}" { // no such group
				if a := s.must(t, route.Method, "/groups/nothing", "", header...); a.status != http.StatusNotFound || a.text("code") != "group-not-found" {
					t.Errorf("with a token %s the group's page is %v", name, a)
				}
				continue
			}
			a := s.must(t, route.Method, pathOf(route, "window", "1"), "", header...)
			if route.Path == "/sales/{saleId}/roll/{page}" { // a sale without a draw
				if a.status != http.StatusNotFound || a.text("code") != "draw-not-found" {
					t.Errorf("with a token %s the roll is %v", name, a)
				}
				continue
			}
			if a.status != http.StatusOK || a.text("saleId") != "window" {
				t.Errorf("with a token %s the public page is %v", name, a)
			}
		}
	}
	slices.Sort(public)
	if want := []string{"GET /assets/{name}", "GET /g/{groupId}", "GET /groups/{groupId}", "GET /s/{saleId}", "GET /sales/{saleId}", "GET /sales/{saleId}/roll/{page}", "GET /signin", "POST /payments/{provider}"}; !slices.Equal(public, want) {
		t.Errorf("public are %q, want %q", public, want)
	}
}

func TestWhereScopesAreAskedForATokenNeedsOne(t *testing.T) {
	s := own(t, rootOf(t), stack.Options{NoPollers: true, Parameters: map[string]string{"PurchaseScope": "buy", "QueryScope": "buy"}})
	s.openSale(t, "scopes", 5)
	order := s.ordered(t, "scopes", "alice")
	c := s.claims("alice")
	if c["scope"] == nil {
		t.Fatal("the template asks for no scope")
	}
	before := s.books(t)
	for name, change := range map[string]fields{
		"without scopes":                  {"scope": nil},
		"with an empty scope":             {"scope": ""},
		"with a foreign scope":            {"scope": "sell"},
		"with a longer scope":             {"scope": "buyer buy.all"},
		"with the scope in capitals":      {"scope": "BUY"},
		"with commas between its scopes":  {"scope": "sell,buy"},
		"with the scope in a permission":  {"scope": nil, "permissions": []string{"buy"}},
		"with the scope under an object":  {"scope": fields{"buy": true}},
		"with scp beside a foreign scope": {"scope": "sell", "scp": "buy"},
	} {
		t.Run("a token "+name+" is forbidden", func(t *testing.T) {
			token := s.signed(c.with(change))
			for _, route := range s.routes {
				if route.Authorizer == "" {
					continue
				}
				a := s.must(t, route.Method, pathOf(route, "scopes", order), "", bearer(token))
				if a.status != http.StatusForbidden || a.raw != `{"message":"Forbidden"}` {
					t.Errorf("%s %s: %v", route.Method, route.Path, a)
				}
			}
		})
	}
	s.unchanged(t, before)
	for name, change := range map[string]fields{
		"with the scope among others": {"scope": "openid buy"},
		"with the scope in scp":       {"scope": nil, "scp": []string{"buy"}},
	} {
		a := s.must(t, http.MethodGet, "/orders/"+order, "", bearer(s.signed(c.with(change))))
		if a.status != http.StatusOK {
			t.Errorf("a token %s: %v", name, a)
		}
	}
}
