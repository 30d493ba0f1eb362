package security

import (
	"net/http"
	"slices"
	"strings"
	"testing"

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
	return strings.NewReplacer("{saleId}", sale, "{orderId}", order).Replace(r.Path)
}

func TestEveryRouteRefusesEveryForgedToken(t *testing.T) {
	s := shared(t)
	s.openSale(t, "vault", 5)
	order := s.ordered(t, "vault", "alice")
	forgeries, lure := s.forgeries(t)
	before := s.books(t)
	protected := 0
	for _, route := range s.routes {
		if route.Authorizer == "" {
			continue
		}
		protected++
		t.Run(route.Method+" "+route.Path, func(t *testing.T) {
			from := s.mark()
			for _, f := range forgeries {
				a, err := s.send(route.Method, pathOf(route, "vault", order)+f.query, f.body, f.header...)
				if err != nil {
					t.Errorf("%s: %v", f.name, err)
				} else if !refused(a) {
					t.Errorf("a token %s is answered with %v", f.name, a)
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
	if visits := lure.visits.Load(); visits > 0 {
		t.Errorf("a key named by a token was fetched %d times", visits)
	}
	s.unchanged(t, before)
}

func TestOnlyTheSaleTheBuyersPageAndTheWebhooksArePublicAndIgnoreTokens(t *testing.T) {
	s := shared(t)
	s.openSale(t, "window", 5)
	forgeries, _ := s.forgeries(t)
	var public []string
	for _, route := range s.routes {
		if route.Authorizer != "" {
			continue
		}
		public = append(public, route.Method+" "+route.Path)
		if route.Function == "PageFunction" {
			continue // its answers are the same for everybody
		}
		for _, f := range forgeries {
			if route.Function == "PayFunction" {
				if a := s.must(t, route.Method, "/payments/stripe"+f.query, "{}", f.header...); a.status != http.StatusBadRequest {
					t.Errorf("with a token %s an unsigned webhook is %v", f.name, a)
				}
				continue
			}
			a := s.must(t, route.Method, pathOf(route, "window", "1")+f.query, "", f.header...)
			if a.status != http.StatusOK || a.text("saleId") != "window" {
				t.Errorf("with a token %s the public page is %v", f.name, a)
			}
		}
	}
	slices.Sort(public)
	if want := []string{"GET /assets/{name}", "GET /s/{saleId}", "GET /sales/{saleId}", "GET /signin", "POST /payments/{provider}"}; !slices.Equal(public, want) {
		t.Errorf("public are %q, want %q", public, want)
	}
}

func TestEveryFormOfAGoodTokenIsAccepted(t *testing.T) {
	s := shared(t)
	s.openSale(t, "forms", 5)
	order := s.ordered(t, "forms", "alice")
	c := s.claims("alice")
	for name, header := range map[string]string{
		"with the scheme":                    "Bearer " + s.signed(c),
		"with the scheme in lower case":      "bearer " + s.signed(c),
		"without a scheme":                   s.signed(c),
		"for several audiences":              "Bearer " + s.signed(c.with(fields{"aud": []string{"another", audience}})),
		"for a client instead of a audience": "Bearer " + s.signed(c.with(fields{"aud": nil, "client_id": audience})),
		"that has always been valid":         "Bearer " + s.signed(c.with(fields{"nbf": nil, "iat": nil})),
	} {
		a := s.must(t, http.MethodGet, "/orders/"+order, "", pair{"Authorization", header})
		if a.status != http.StatusOK || a.text("orderId") != order {
			t.Errorf("a token %s is answered with %v", name, a)
		}
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
