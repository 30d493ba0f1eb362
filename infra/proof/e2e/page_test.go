package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var (
	// reference matches the files that a page or a script refers to.
	reference = regexp.MustCompile(`(?:/assets/|["']\./)([\w-]+\.[0-9a-f]{16}\.(?:js|css|svg))["']`)
	// later are the scripts that the page loads only in a sale with a draw.
	later     = regexp.MustCompile(`import\("[^"]*"\)`)
	attribute = regexp.MustCompile(`data-([a-z]+)="([^"]*)"`)
)

// fetched is a file of the page, compressed, as a browser gets it.
func (s *stack) fetched(path string) (a answer, weight int) {
	s.t.Helper()
	zipped := s.must(s.call("GET", path, "", "Accept-Encoding", "gzip, deflate, br"))
	if zipped.header.Get("Content-Encoding") != "gzip" || zipped.header.Get("Vary") != "Accept-Encoding" {
		s.t.Errorf("%s is not compressed: %v", path, zipped.header)
	}
	return s.must(s.call("GET", path, "", "Accept-Encoding", "identity")), len(zipped.raw)
}

func TestABuyerGetsThePageSignsInAndBuys(t *testing.T) {
	t.Parallel()
	s := boot(t)
	s.open("moutai", 5, 1)
	page, weight := s.fetched("/s/moutai")
	if page.status != http.StatusOK || page.header.Get("Cache-Control") != "public, max-age=60" || page.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("%d %v", page.status, page.header)
	}

	// Everything that the page loads is there, and may be kept for ever.
	seen := map[string]bool{}
	for open := []string{page.raw}; len(open) > 0; open = open[1:] {
		for _, m := range reference.FindAllStringSubmatch(later.ReplaceAllString(open[0], ""), -1) {
			if seen[m[1]] {
				continue
			}
			seen[m[1]] = true
			file, more := s.fetched("/assets/" + m[1])
			if file.status != http.StatusOK || file.header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
				t.Errorf("%s: %d %v", m[1], file.status, file.header)
			}
			weight += more
			open = append(open, file.raw)
		}
	}
	weight += len(s.must(s.call("GET", "/sales/moutai", "")).raw)
	if len(seen) < 6 || weight > 18<<10 {
		t.Errorf("the page loads %d files, %d bytes with itself and its sale; want some, and at most 18 KiB", len(seen), weight)
	}
	t.Logf("the page: %d requests, %d bytes compressed", len(seen)+2, weight)

	// It signs in where the page says.
	data := map[string]string{}
	for _, m := range attribute.FindAllStringSubmatch(page.raw, -1) {
		data[m[1]] = m[2]
	}
	const verifier = "a-verifier-of-at-least-forty-three-characters-0123"
	digest := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {data["client"]}, "scope": {data["scope"]}, "redirect_uri": {s.api("/signin")},
		"state": {"s1"}, "nonce": {"n1"}, "code_challenge_method": {"S256"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(digest[:])},
	}
	form := func(values url.Values) (string, string, string) {
		return values.Encode(), "Content-Type", "application/x-www-form-urlencoded"
	}
	body, name, value := form(url.Values{"sub": {"alice"}})
	sent := s.must(s.call("POST", data["authorize"]+"?"+query.Encode(), body, name, value, "Origin", s.api("")))
	back, err := url.Parse(sent.header.Get("Location"))
	if err != nil || sent.status != http.StatusSeeOther || !strings.HasPrefix(back.String(), s.api("/signin?")) || back.Query().Get("state") != "s1" {
		t.Fatalf("%v to %q, %v", sent, back, err)
	}
	callback := s.must(s.call("GET", back.RequestURI(), ""))
	if callback.status != http.StatusOK || !strings.Contains(callback.raw, `data-sale=""`) {
		t.Errorf("the callback is %v", callback)
	}
	body, name, value = form(url.Values{
		"grant_type": {"authorization_code"}, "client_id": {data["client"]}, "redirect_uri": {s.api("/signin")}, "code": {back.Query().Get("code")}, "code_verifier": {verifier},
	})
	tokens := s.must(s.call("POST", data["token"], body, name, value, "Origin", s.api("")))
	if tokens.status != http.StatusOK {
		t.Fatal(tokens)
	}
	access := "Bearer " + tokens.text("access_token")
	if a := s.must(s.buy("moutai", "Authorization", access, "Origin", s.api(""))); a.status != http.StatusAccepted {
		t.Errorf("alice's purchase: %v", a)
	}
	if a := s.must(s.call("GET", "/sales/moutai/orders/me", "", "Authorization", "Bearer "+tokens.text("id_token"))); a.status != http.StatusUnauthorized {
		t.Errorf("an id token opens the API: %v", a)
	}
	if b := s.balanced("moutai"); len(b.Claims) != 1 {
		t.Errorf("claims: %v", b.Claims)
	}
}
