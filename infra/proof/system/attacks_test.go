package system

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/template"
)

// stored is every item but for the sales' listings, in which schedules write, when every claim has its order.
func (v visit) stored() map[string]string {
	v.t.Helper()
	v.items()
	all := map[string]string{}
	pages := dynamodb.NewScanPaginator(v.db(), &dynamodb.ScanInput{TableName: aws.String(table), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(v.t.Context())
		if err != nil {
			v.t.Fatal(err)
		}
		for _, it := range page.Items {
			pk, sk := it["pk"].(*types.AttributeValueMemberS).Value, it["sk"].(*types.AttributeValueMemberS).Value
			text, err := json.Marshal(it)
			if err != nil {
				v.t.Fatal(err)
			}
			if pk != "SALES" {
				all[pk+" | "+sk] = string(text)
			}
		}
	}
	return all
}

// unchanged checks that no item was written, changed or removed.
func (v visit) unchanged(before map[string]string) {
	v.t.Helper()
	if diff := cmp.Diff(before, v.stored()); diff != "" {
		v.t.Errorf("the table changed (-before +after):\n%s", diff)
	}
}

// refused reports whether an answer is the gateway's own 401, which gives the reason
// and quotes nothing.
func refused(a client.Answer) bool {
	return a.Status == http.StatusUnauthorized && string(a.Body) == `{"message":"Unauthorized"}` &&
		strings.HasPrefix(a.Header.Get("Www-Authenticate"), "Bearer")
}

// operatorsRoutes are requests of all routes of the operators' API that ask for a token.
var operatorsRoutes = []string{
	"GET /operate/sales", "GET /operate/sales/vault", "GET /operate/sales/vault/changes", "GET /operate/sales/vault/buyers/alice", "GET /operate/orders/1",
	"POST /operate/sales/vault/changes", "GET /operate/refunds", "POST /operate/refunds", "POST /operate/refunds/list", "GET /operate/health", "GET /operate/purchases", "POST /operate/repairs",
}

// forgeries are headers without a valid token, by what is wrong with them.
func (v visit) forgeries() map[string][]string {
	v.t.Helper()
	mallory, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		v.t.Fatal(err)
	}
	c, parts := v.claims("alice"), strings.Split(v.token("alice"), ".")
	return map[string][]string{
		"that is missing":       nil,
		"for another audience":  bearer(v.signed(c.with(fields{"aud": "another"}))),
		"signed by another key": bearer(v.forge(mallory, c)),
		"with another user":     bearer(v.remember(parts[0] + "." + strings.Split(v.token("victim"), ".")[1] + "." + parts[2])),
	}
}

// buyersTokens are good in the shop, and claim what an operator's would have.
func (v visit) buyersTokens() map[string][]string {
	groups := []string{"flashsale-operator", "flashsale-viewer"}
	both := fields{"cognito:groups": groups, "aud": []string{audience, audience + "-operators"}, "scope": "flashsale/operate flashsale-operator"}
	return map[string][]string{
		"of a buyer": bearer(v.token("alice")),
		"of a buyer for both audiences and the operators' scope": bearer(v.signed(v.claims("alice").with(both))),
		"of a buyer that names the operators' issuer":            bearer(v.signed(v.claims("alice").with(both).with(fields{"iss": v.Operate + "/_local"}))),
	}
}

func TestNoRouteOpensWithoutATokenOfItsOwn(t *testing.T) {
	s := shared(t)
	s.open("vault", 5, 1)
	order := s.order("vault", "alice")
	before := s.stored()
	operators := map[string][]string{}
	for _, role := range []string{"operator", "viewer"} {
		token, err := s.client.Token(t.Context(), "alice", "role", role)
		if err != nil {
			t.Fatal(err)
		}
		operators["of an operator who is a "+role] = bearer(s.remember(token))
	}
	pathOf := func(r template.Route) string {
		return strings.NewReplacer("{saleId}", "vault", "{orderId}", order, "{page}", "0f").Replace(r.Path)
	}
	try := func(api, method, path string, tokens ...map[string][]string) {
		for _, some := range tokens {
			for name, header := range some {
				header = slices.Concat(header, []string{"Content-Type", "application/json"})
				if a := s.send(method, api, path, `{"id":"pause-1","action":"pause"}`, header...); !refused(a) {
					t.Errorf("%s %s with a token %s is answered with %v", method, path, name, a)
				}
			}
		}
	}
	forged := s.forgeries()
	protected := 0
	for _, route := range s.routes {
		if route.Authorizer != "" {
			protected++
			try(s.API, route.Method, pathOf(route), forged, operators)
		}
	}
	for _, route := range operatorsRoutes {
		method, path, _ := strings.Cut(route, " ")
		try(s.Operate, method, path, forged, s.buyersTokens())
	}
	if protected < 3 {
		t.Errorf("only %d routes ask for a token", protected)
	}
	s.unchanged(before)
}

func TestUsersAndSalesThatLookAlikeShareNothing(t *testing.T) {
	s := shared(t)
	sales := []string{"lot", "Lot", "lot-", "lot_", "lot0", "-lot", "l", "__proto__", "constructor", "me", "orders"}
	users := []string{
		"zoe", "Zoe", "zoe#", "#zoe", "zoe#0", "0#zoe", "zoë", "zoe\u0308", "ｚoe", "zое", "zoe|0", "zoe%00", `zoe"`, "zoe,", "zoe/..",
		"CLAIM#lot#0", "STOCK", "SALE", "__proto__", "null", "[zoe]", "𝓏oe", strings.Repeat("z", 254), strings.Repeat("z", 255),
	}
	claims := map[string]bool{}
	for _, sale := range sales {
		s.open(sale, len(users), 1) // a unit for each: a shared one would be lacking
	}
	s.sell("lot", users...)
	for _, sale := range sales[1:] {
		s.sell(sale, "zoe")
	}
	for _, sale := range sales {
		for user, claim := range s.promised[sale] {
			claims[claim] = true
			if a := s.call("GET", "/sales/"+sale+"/orders/me", s.bearer(user)...); a.Claim.ClaimID != claim {
				t.Errorf("the claim of %q in %s is %v, want %s", user, sale, a, claim)
			}
		}
	}
	if want := len(users) + len(sales) - 1; len(claims) != want {
		t.Errorf("%d claims have different ids, want %d", len(claims), want)
	}
	all := s.items()
	owners := map[string]bool{}
	for _, c := range all.Sale("lot").Claims {
		owners[c.User] = true
	}
	if len(owners) != len(users) {
		t.Errorf("%d users have claims, want %d", len(owners), len(users))
	}
}
