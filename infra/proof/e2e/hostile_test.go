package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestBadInputIsAnsweredAndWritesNothing(t *testing.T) {
	t.Parallel()
	s := boot(t)
	s.open("moutai", 5, 1)
	alice := s.bearer("alice")
	with := func(header ...string) []string { return append(append([]string{}, alice...), header...) }
	json := "application/json"
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		code                     string // "" for the gateway's own answers
	}{
		{"no token", "POST", "/sales/moutai/orders", "", nil, 401, ""},
		{"malformed token", "POST", "/sales/moutai/orders", "", []string{"Authorization", "Bearer a.b.c"}, 401, ""},
		{"other scheme", "POST", "/sales/moutai/orders", "", []string{"Authorization", "Basic YWxpY2U6eA=="}, 401, ""},
		{"wrong method", "PUT", "/sales/moutai/orders", "", alice, 404, ""},
		{"wrong path", "POST", "/sales/moutai/order", "", alice, 404, ""},
		{"a slash too many", "POST", "/sales/moutai/orders/", "", alice, 404, ""},
		{"separator in the sale id", "POST", "/sales/a%23b/orders", "", alice, 400, "invalid-request"},
		{"slash in the sale id", "POST", "/sales/a%2Fb/orders", "", alice, 400, "invalid-request"},
		{"control character", "POST", "/sales/a%00b/orders", "", alice, 400, "invalid-request"},
		{"invalid UTF-8", "POST", "/sales/a%FFb/orders", "", alice, 400, "invalid-request"},
		{"65 characters", "POST", "/sales/" + long + "/orders", "", alice, 400, "invalid-request"},
		{"full-width letters", "POST", "/sales/" + url.PathEscape("ｍoutai") + "/orders", "", alice, 400, "invalid-request"},
		{"oversize body", "POST", "/sales/moutai/orders", strings.Repeat(" ", 1025), with("Content-Type", json), 413, "body-too-large"},
		{"other content type", "POST", "/sales/moutai/orders", "{}", with("Content-Type", "text/plain"), 415, "unsupported-media-type"},
		{"a field", "POST", "/sales/moutai/orders", `{"quantity":2}`, with("Content-Type", json), 400, "invalid-request"},
		{"null", "POST", "/sales/moutai/orders", `null`, with("Content-Type", json), 400, "invalid-request"},
		{"a list", "POST", "/sales/moutai/orders", `[]`, with("Content-Type", json), 400, "invalid-request"},
		{"two documents", "POST", "/sales/moutai/orders", `{}{}`, with("Content-Type", json), 400, "invalid-request"},
		{"bytes", "POST", "/sales/moutai/orders", "\xff\xfe", with("Content-Type", json), 400, "invalid-request"},
		{"long key", "POST", "/sales/moutai/orders", "", with("Idempotency-Key", long), 400, "invalid-request"},
		{"empty key", "POST", "/sales/moutai/orders", "", with("Idempotency-Key", ""), 400, "invalid-request"},
		{"separator in the key", "POST", "/sales/moutai/orders", "", with("Idempotency-Key", "a#b"), 400, "invalid-request"},
		{"order id with letters", "GET", "/orders/abc", "", alice, 400, "invalid-request"},
		{"order id with a leading zero", "GET", "/orders/0123", "", alice, 400, "invalid-request"},
		{"order id too long", "GET", "/orders/99999999999999999999", "", alice, 400, "invalid-request"},
		{"unknown order", "GET", "/orders/4294967297", "", alice, 404, "order-not-found"},
		{"unknown sale page", "GET", "/sales/nowhere", "", nil, 404, "sale-not-found"},
		{"user with a control character", "GET", "/sales/moutai/orders/me", "", s.bearer("a\nb"), 400, "invalid-request"},
		{"user of 129 characters", "POST", "/sales/moutai/orders", "", s.bearer(strings.Repeat("u", 129)), 400, "invalid-request"},
	} {
		a, err := s.call(c.method, c.path, c.body, c.header...)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case a.status != c.status || a.text("code") != c.code:
			t.Errorf("%s: got %v, want %d %s", c.name, a, c.status, c.code)
		case c.code == "" && a.text("message") == "":
			t.Errorf("%s: the gateway says %v", c.name, a)
		}
	}
	if b := s.books("moutai"); len(b.Claims) != 0 || len(b.Orders) != 0 {
		t.Errorf("bad input left %v %v", b.Claims, b.Orders)
	}
}

func TestOnlyTheIssuersOwnValidTokensOpenTheDoor(t *testing.T) {
	t.Parallel()
	s := boot(t)
	s.open("moutai", 5, 1)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := s.token("mallory")
	parsed, _, err := jwt.NewParser().ParseUnverified(good, jwt.MapClaims{})
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, key any) string {
		token := jwt.NewWithClaims(method, parsed.Claims)
		token.Header["kid"] = parsed.Header["kid"]
		signed, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"expired":           s.token("mallory", "ttl=-60"),
		"other audience":    s.token("mallory", "aud=another"),
		"other client":      s.token("mallory", "client_id=another"),
		"another key":       sign(jwt.SigningMethodRS256, stranger),
		"no algorithm":      sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType),
		"HS256":             sign(jwt.SigningMethodHS256, []byte(parts[1])),
		"without signature": parts[0] + "." + parts[1] + ".",
		"other issuer": func() string {
			claims := jwt.MapClaims{"iss": "https://evil.example", "sub": "mallory", "aud": "flashsale-local", "exp": time.Now().Add(time.Hour).Unix()}
			signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(stranger)
			if err != nil {
				t.Fatal(err)
			}
			return signed
		}(),
	} {
		for _, call := range [][2]string{{"POST", "/sales/moutai/orders"}, {"GET", "/sales/moutai/orders/me"}, {"GET", "/orders/4294967297"}} {
			a := s.must(s.call(call[0], call[1], "", "Authorization", "Bearer "+token))
			if a.status != http.StatusUnauthorized || a.text("message") != "Unauthorized" {
				t.Errorf("%s, %s %s: %v", name, call[0], call[1], a)
			}
		}
	}
	a := s.must(s.call("POST", "/sales/moutai/orders", "", "Authorization", "Bearer "+good, "X-User-Id", "victim"))
	if a.status != http.StatusAccepted {
		t.Errorf("the good token: %v", a)
	}
	if b := s.balanced("moutai"); len(b.Claims) != 1 || b.Claims[0].User != "mallory" {
		t.Errorf("claims: %v (P12)", b.Claims)
	}
}

func TestSeedingRefusesWhatIsNotExactlyARequest(t *testing.T) {
	t.Parallel()
	s := boot(t)
	s.open("moutai", 5, 1)
	for name, payload := range map[string]string{
		"no action":        `{}`,
		"unknown action":   `{"action":"delete","saleId":"moutai"}`,
		"a list":           `[]`,
		"unknown field":    `{"action":"pause","saleId":"moutai","force":true}`,
		"foreign field":    `{"action":"pause","saleId":"moutai","stock":5}`,
		"doubled field":    `{"action":"add","saleId":"moutai","seedId":"s","stock":1,"stock":1000}`,
		"null":             `{"action":"add","saleId":"moutai","seedId":"s","stock":null}`,
		"negative stock":   `{"action":"add","saleId":"moutai","seedId":"s","stock":-1}`,
		"text for number":  `{"action":"add","saleId":"moutai","seedId":"s","stock":"1"}`,
		"fraction":         `{"action":"add","saleId":"moutai","seedId":"s","stock":1.5}`,
		"separator":        `{"action":"add","saleId":"mou#tai","seedId":"s","stock":1}`,
		"window backwards": `{"action":"create","saleId":"x","opensAt":"2026-01-02T00:00:00Z","closesAt":"2026-01-01T00:00:00Z","stock":1}`,
		"too many shards":  `{"action":"create","saleId":"x","opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":5,"shards":6}`,
		"no such sale":     `{"action":"pause","saleId":"nowhere"}`,
		"other contents":   `{"action":"create","saleId":"moutai","opensAt":"2026-01-01T00:00:00Z","closesAt":"2036-01-01T00:00:00Z","stock":6,"shards":1}`,
		"edit from future": fmt.Sprintf(`{"action":"pause","saleId":"moutai","at":%q}`, time.Now().Add(time.Hour).Format(time.RFC3339)),
	} {
		body, failed := s.seed(payload)
		code, _ := body["errorType"].(string)
		if failed == "" || (code != "invalid-request" && code != "sale-not-found" && code != "conflicting-request") {
			t.Errorf("%s: %q %v", name, failed, body)
		}
		if text := fmt.Sprint(body); strings.Contains(text, "dynamodb") || strings.Contains(text, "goroutine") || strings.Contains(text, ".go:") {
			t.Errorf("%s leaks: %v", name, body)
		}
	}
	if b := s.books("moutai"); b.Stock() != 5 {
		t.Errorf("stock is %v, want 5", b.Stock())
	}
}
