package security

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// markup are sale ids that would be markup, a script or a link if a page repeated them.
var markup = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onload='alert(1)`, `{{.}}`, `{{"x" | html}}`, `javascript:alert(1)`, `</html><script>`,
	`&lt;script&gt;`, `＜script＞`, "x\u2028alert(1)", "x\x00<script>", `..%2f..%2fassets`, `//evil.example`, `x" data-authorize="https://evil.example`,
}

func TestNoSaleIDBecomesPartOfTheBuyersPage(t *testing.T) {
	s := shared(t)
	whole := s.must(t, http.MethodGet, "/s/moutai", "")
	nothing := strings.Replace(whole.raw, `data-sale="moutai"`, `data-sale=""`, 1)
	if whole.status != http.StatusOK || nothing == whole.raw {
		t.Fatalf("the page is %v", whole)
	}
	for _, id := range markup {
		a := s.must(t, http.MethodGet, "/s/"+url.PathEscape(id), "")
		if a.status != http.StatusNotFound || a.raw != nothing {
			t.Errorf("%q is answered %v", id, a)
		}
		a = s.must(t, http.MethodGet, "/assets/"+url.PathEscape(id), "")
		if a.status != http.StatusNotFound || a.raw != "no such file\n" {
			t.Errorf("the file %q is answered %v", id, a)
		}
		query := url.Values{"code": {id}, "state": {id}, "error_description": {id}}
		if a = s.must(t, http.MethodGet, "/signin?"+query.Encode(), ""); a.raw != nothing {
			t.Errorf("the callback with %q is answered %v", id, a)
		}
	}
}

func TestNoOtherPageCanFrameOrReadTheBuyersPage(t *testing.T) {
	s := shared(t)
	for _, path := range []string{"/s/moutai", "/s/%3Cb%3E", "/signin?code=x", "/assets/page.0123456789abcdef.js", "/assets/none"} {
		a := s.must(t, http.MethodGet, path, "")
		for _, want := range []string{"frame-ancestors 'none'", "default-src 'none'", "base-uri 'none'", "form-action 'none'", "script-src 'self';"} {
			if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: the policy %q lacks %s", path, policy, want)
			}
		}
		if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Referrer-Policy") != "no-referrer" || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, a.header)
		}
	}
	form := s.must(t, http.MethodGet, "/_local/authorize", "")
	if policy := form.header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the local sign-in page can be framed: %q", policy)
	}
}

// A browser adds cookies and the Origin to what a foreign page sends, but no
// Authorization header: only the buyer's own page has the token.
func TestAVisitToAnotherPageBuysNothing(t *testing.T) {
	s := shared(t)
	s.openSale(t, "visited", 5)
	before := s.books(t)
	token := s.token("alice")
	for _, header := range [][]pair{
		{{"Cookie", "token=" + token + "; Authorization=Bearer " + token}},
		{{"Origin", "https://evil.example"}, {"Cookie", "Authorization=" + token}, {"Content-Type", "text/plain"}},
		{{"Origin", "null"}, bearer(token)},
		{{"Origin", "https://evil.example"}, bearer(token)},
		{{"Content-Type", "application/x-www-form-urlencoded"}, {"Origin", s.API}},
	} {
		for _, path := range []string{"/sales/visited/orders", "/sales/visited/orders?access_token=" + token} {
			if a := s.must(t, http.MethodPost, path, "", header...); a.status != http.StatusUnauthorized && a.status != http.StatusForbidden {
				t.Errorf("%v: %v", header, a)
			}
		}
	}
	s.unchanged(t, before)
}

func TestTheCodeOfASignInIsLoggedNowhere(t *testing.T) {
	s := shared(t)
	from := s.mark()
	const code = "code-canary-55"
	s.must(t, http.MethodGet, "/signin?code="+code+"&state="+code, "", pair{"Referer", "https://issuer.example/?" + code})
	s.fence(t)
	if text := s.logged(t, from) + s.own.String(); strings.Contains(text, code) {
		t.Errorf("the log has the code: %s", text)
	}
}
