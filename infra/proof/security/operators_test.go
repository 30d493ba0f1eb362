package security

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// operatorsRoutes are requests of all routes of the operators' API that ask for a token.
var operatorsRoutes = []string{
	"GET /operate/sales", "GET /operate/sales/till", "GET /operate/sales/till/changes", "GET /operate/sales/till/buyers/alice",
	"POST /operate/sales/till/changes",
}

// operate makes a request of the operators' API.
func (s *system) operate(t *testing.T, route, body string, header ...pair) answer {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	a, err := s.sendTo(s.Operate, method, path, body, slices.Concat(header, []pair{{"Content-Type", "application/json"}})...)
	if err != nil {
		t.Fatalf("%s: %v", route, err)
	}
	return a
}

// operatorsToken returns a token of the local operators' issuer.
func (s *system) operatorsToken(t *testing.T, name, role string) string {
	t.Helper()
	a := s.must(t, http.MethodGet, "/_local/token?sub="+url.QueryEscape(name)+"&role="+role, "")
	if a.status != http.StatusOK {
		t.Fatal(a)
	}
	return s.remember(a.raw)
}

const pauseTill = `{"id":"pause-1","action":"pause"}`

func TestABuyersTokenOpensNoOperatorsRoute(t *testing.T) {
	s := shared(t)
	s.openSale(t, "till", 5)
	before, from := s.books(t), s.mark()
	forged := s.forgeries(t)
	groups := []string{"flashsale-operator", "flashsale-viewer"}
	for name, change := range map[string]fields{
		"of a buyer":                                   nil,
		"of a buyer with the operators' groups":        {"cognito:groups": groups},
		"of a buyer for the operators' audience":       {"cognito:groups": groups, "aud": audience + "-operators"},
		"of a buyer for both audiences":                {"cognito:groups": groups, "aud": []string{audience, audience + "-operators"}},
		"of a buyer that names the operators' issuer":  {"cognito:groups": groups, "aud": audience + "-operators", "iss": s.Operate + "/_local"},
		"of a buyer with the operators' scope instead": {"scope": "flashsale/operate flashsale-operator"},
	} {
		forged[name] = []pair{bearer(s.signed(s.claims("alice").with(change)))}
	}
	for name, header := range forged {
		for _, route := range operatorsRoutes {
			if a := s.operate(t, route, pauseTill, header...); !refused(a) {
				t.Errorf("%s with a token %s is answered with %v", route, name, a)
			}
		}
	}
	for _, l := range of(s.lines(t, from, unprintable), "OperateFunction") {
		t.Errorf("OperateFunction was invoked: %s", l.text)
	}
	s.unchanged(t, before)
}

func TestAnOperatorsTokenBuysNothing(t *testing.T) {
	s := shared(t)
	s.openSale(t, "counter", 5)
	order := s.ordered(t, "counter", "alice")
	before := s.books(t)
	for _, role := range []string{"operator", "viewer"} {
		token := bearer(s.operatorsToken(t, "alice", role))
		for _, route := range s.routes {
			if route.Authorizer == "" {
				continue
			}
			if a := s.must(t, route.Method, pathOf(route, "counter", order), "", token); !refused(a) {
				t.Errorf("%s %s with the token of a %s is answered with %v", route.Method, route.Path, role, a)
			}
		}
	}
	s.unchanged(t, before)
}

func TestAViewerSeesEverythingAndChangesNothing(t *testing.T) {
	s := shared(t)
	s.openSale(t, "seen", 5)
	before := s.books(t)
	token := bearer(s.operatorsToken(t, "vera", "viewer"))
	for _, route := range operatorsRoutes {
		a := s.operate(t, strings.ReplaceAll(route, "till", "seen"), pauseTill, token)
		if want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[strings.HasPrefix(route, "GET")]; a.status != want || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is answered with %v, want %d", route, a, want)
		}
	}
	s.unchanged(t, before)
}

func TestAUserIDInAnOperatorsPathIsTakenAsItIs(t *testing.T) {
	s := shared(t)
	s.openSale(t, "looked-at", 5)
	token := bearer(s.operatorsToken(t, "vera", "viewer"))
	for _, user := range []string{"a/b", "../sales", "a b", "a%2Fb", "a?b#c", "CLAIM#looked-at#0", "<script>", "=1+1", "张三"} {
		a := s.operate(t, "GET /operate/sales/looked-at/buyers/"+url.PathEscape(user), "", token)
		if a.status != http.StatusOK || a.text("user") != user || a.text("state") != "NONE" {
			t.Errorf("%q: %v", user, a)
		}
	}
}
