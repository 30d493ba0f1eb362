package security

import (
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// The tokens in this file are the issuer's own: even a careless issuer, or one that
// lets users choose their names, must not make one user look like another (P12).

func TestATokenWhoseSubIsNoUserIDBuysNothing(t *testing.T) {
	s := shared(t)
	s.openSale(t, "nobody", 50)
	before := s.books(t)
	for _, c := range []struct {
		name, sub string // the member as JSON; none if empty
		status    int
		code      string
	}{
		{"without a sub", "", 401, "unauthorized"},
		{"whose sub is null", `null`, 401, "unauthorized"},
		{"whose sub is empty", `""`, 401, "unauthorized"},
		{"whose sub holds a NUL", `"alice\u0000"`, 400, "invalid-request"},
		{"whose sub holds a line end", `"alice\r\nX-User: bob"`, 400, "invalid-request"},
		{"whose sub holds a zero-width space", `"ali\u200bce"`, 400, "invalid-request"},
		{"whose sub turns the direction of text", `"\u202eecila"`, 400, "invalid-request"},
		{"whose sub holds half a surrogate pair", `"alice\ud800"`, 400, "invalid-request"},
		{"whose sub is not UTF-8", "\"alice\xff\"", 400, "invalid-request"},
		{"whose sub holds the replacement character", `"alice\ufffd"`, 400, "invalid-request"},
		{"whose sub ends in a blank", `"alice "`, 400, "invalid-request"},
		{"whose sub has 256 characters", `"` + strings.Repeat("u", 256) + `"`, 400, "invalid-request"},
		{"whose sub has 129 characters beyond ASCII", `"` + strings.Repeat("é", 129) + `"`, 400, "invalid-request"},
		{"whose sub has 3,000 characters", `"` + strings.Repeat("u", 3000) + `"`, 400, "invalid-request"},
	} {
		t.Run("a token "+c.name, func(t *testing.T) {
			claims := s.claims("").with(fields{"sub": nil}).text()
			if c.sub != "" {
				claims = strings.TrimSuffix(claims, "}") + `,"sub":` + c.sub + "}"
			}
			token := s.forge(jwt.SigningMethodRS256, s.key, s.header().text(), claims)
			for _, call := range [][2]string{
				{http.MethodPost, "/sales/nobody/orders"}, {http.MethodGet, "/sales/nobody/orders/me"}, {http.MethodGet, "/orders/4294967297"},
			} {
				if a := s.must(t, call[0], call[1], "", bearer(token)); a.status != c.status || a.text("code") != c.code {
					t.Errorf("%s %s: %v, want %d %s", call[0], call[1], a, c.status, c.code)
				}
			}
		})
	}
	s.unchanged(t, before)
}

func TestAStrangeSubIsNeverAnotherUser(t *testing.T) {
	s := shared(t)
	s.openSale(t, "masks", 50)
	order := s.ordered(t, "masks", "alice")
	for name, sub := range map[string]any{
		"a list with her name":             []string{"alice"},
		"an object with her name":          fields{"sub": "alice"},
		"her name in capitals":             "ALICE",
		"her name with a Cyrillic letter":  "аlice",
		"her name and a combining mark":    "alicé",
		"her name percent-encoded":         "%61lice",
		"her name and a separator":         "alice#",
		"the end of her key":               "0#alice",
		"her whole key":                    "CLAIM#masks#0#alice",
		"a pattern":                        "*",
		"her name, a comma and another":    "alice,bob",
		"a prefix of her name":             "alic",
		"the name of an item of the table": "STOCK",
	} {
		t.Run("a sub that is "+name, func(t *testing.T) {
			token := s.signed(s.claims("").with(fields{"sub": sub}))
			if a := s.must(t, http.MethodGet, "/sales/masks/orders/me", "", bearer(token)); a.status != http.StatusNotFound {
				t.Errorf("her claim: %v", a)
			}
			if a := s.must(t, http.MethodGet, "/orders/"+order, "", bearer(token)); a.status != http.StatusNotFound {
				t.Errorf("her order: %v", a)
			}
		})
	}
}

func TestNamesOfClaimsAreExact(t *testing.T) {
	s := shared(t)
	s.openSale(t, "exact", 5)
	order := s.ordered(t, "exact", "alice")
	for _, c := range []struct {
		name   string
		change fields
		status int
	}{
		{"a Sub is no sub", fields{"sub": nil, "Sub": "alice"}, 401},
		{"a SUB is no sub", fields{"sub": nil, "SUB": "alice"}, 401},
		{"a sub with a long s is no sub", fields{"sub": nil, "ſub": "alice"}, 401},
		{"a Sub does not replace the sub", fields{"sub": "mallory", "Sub": "alice", "SUB": "alice"}, 404},
		{"a user name is no sub", fields{"sub": nil, "username": "alice", "cognito:username": "alice", "user_id": "alice"}, 401},
		{"claims in claims are no claims", fields{"sub": nil, "claims": fields{"sub": "alice"}, "jwt": fields{"claims": fields{"sub": "alice"}}}, 401},
		{"an actor is not the user", fields{"sub": "mallory", "act": fields{"sub": "alice"}}, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			if a := s.must(t, http.MethodGet, "/orders/"+order, "", bearer(s.signed(s.claims("").with(c.change)))); a.status != c.status {
				t.Errorf("alice's order: %v, want %d", a, c.status)
			}
		})
	}
}

func TestIdentityComesFromTheAuthorizerOnly(t *testing.T) {
	s := shared(t)
	s.openSale(t, "events", 5)
	before := s.books(t)
	const route = `"version":"2.0","routeKey":"POST /sales/{saleId}/orders","pathParameters":{"saleId":"events"},` +
		`"headers":{"authorization":"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.","x-user-id":"alice","sub":"alice"},` +
		`"queryStringParameters":{"sub":"alice"},"cookies":["sub=alice"]`
	for name, context := range map[string]string{
		"no authorizer":                 `{}`,
		"an authorizer without a token": `{"authorizer":{}}`,
		"a null authorizer":             `{"authorizer":null}`,
		"a token without claims":        `{"authorizer":{"jwt":{"scopes":null}}}`,
		"a Lambda authorizer":           `{"authorizer":{"lambda":{"sub":"alice"}}}`,
		"an IAM caller":                 `{"authorizer":{"iam":{"userId":"alice","callerId":"alice"}}}`,
		"the older format's claims":     `{"authorizer":{"claims":{"sub":"alice"},"principalId":"alice"}}`,
		"an identity":                   `{"identity":{"user":"alice","cognitoIdentityId":"alice"}}`,
		"claims in another case":        `{"authorizer":{"jwt":{"claims":{"Sub":"alice","SUB":"alice"}}}}`,
		"an authorizer in another case": `{"Authorizer":{"jwt":{"claims":{"sub":"alice"}}}}`,
	} {
		t.Run("an event with "+name+" is nobody's", func(t *testing.T) {
			o := s.invoke(t, "PurchaseFunction", `{`+route+`,"requestContext":`+context+`}`)
			if !strings.Contains(o.raw, `"statusCode":401`) {
				t.Errorf("it is answered with %v", o)
			}
		})
	}
	s.unchanged(t, before)
}
