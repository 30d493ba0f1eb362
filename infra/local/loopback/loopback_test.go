package loopback_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"flashsale/infra/local/loopback"
)

func status(rules loopback.Rules, r *http.Request) int {
	w := httptest.NewRecorder()
	rules.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })).ServeHTTP(w, r)
	return w.Code
}

func TestOnlyProgramsOfThisMachineAndAcceptedPagesAreServed(t *testing.T) {
	rules := loopback.Rules{
		Origins: func(origin string) bool { return origin == "https://shop.example" },
		Links:   func(r *http.Request) bool { return r.URL.Path == "/s/demo" },
	}
	const host, own, shop, evil = "127.0.0.1:3000", "http://127.0.0.1:3000", "https://shop.example", "https://evil.example"
	origin := func(values ...string) http.Header { return http.Header{"Origin": values} }
	// Browsers send no Origin with these.
	fetched := func(site, mode string) http.Header {
		return http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Mode": {mode}}
	}
	for _, tt := range []struct {
		name, method, host, path string
		header                   http.Header
		want, withoutRules       int
	}{
		{"a program on this machine", "POST", host, "/", nil, 204, 204},
		{"by name", "POST", "localhost:3000", "/", nil, 204, 204},
		{"by IPv6", "POST", "[::1]:3000", "/", nil, 204, 204},
		{"without a port", "POST", "127.0.0.1", "/", nil, 204, 204},
		{"the server's own page", "POST", host, "/", origin(own), 204, 204},
		{"a page that the template allows", "POST", host, "/", origin(shop), 204, 403},
		{"a rebound name", "POST", "evil.example:3000", "/", nil, 403, 403},
		{"a rebound name's own page", "POST", "evil.example:3000", "/", origin("http://evil.example:3000"), 403, 403},
		{"a name that begins like a loopback address", "POST", "127.0.0.1.evil.example:3000", "/", nil, 403, 403},
		{"no host", "POST", "", "/", nil, 403, 403},
		{"another page", "POST", host, "/", origin(evil), 403, 403},
		{"a page on another port", "POST", host, "/", origin("http://127.0.0.1:8080"), 403, 403},
		{"a page without an origin of its own", "POST", host, "/", origin("null"), 403, 403},
		{"two origins", "POST", host, "/", origin(own, evil), 403, 403},
		{"what somebody types", "GET", host, "/pay", fetched("none", "navigate"), 204, 204},
		{"the own page's script", "GET", host, "/pay", fetched("same-origin", "no-cors"), 204, 204},
		{"a foreign link to the page", "GET", host, "/s/demo", fetched("cross-site", "navigate"), 204, 403},
		{"a foreign link to something else", "GET", host, "/pay", fetched("cross-site", "navigate"), 403, 403},
		{"a foreign form", "POST", host, "/s/demo", fetched("cross-site", "navigate"), 403, 403},
		{"another port's image", "GET", host, "/s/demo", fetched("same-site", "no-cors"), 403, 403},
	} {
		r := httptest.NewRequest(tt.method, "http://"+host+tt.path, nil)
		r.Host = tt.host
		maps.Copy(r.Header, tt.header)
		if got, without := status(rules, r), status(loopback.Rules{}, r); got != tt.want || without != tt.withoutRules {
			t.Errorf("%s: status %d, and %d without rules; want %d and %d", tt.name, got, without, tt.want, tt.withoutRules)
		}
	}
}

func TestAPageOfAnOriginThatIsNotAllowedIsToldTheSettingOfOrigins(t *testing.T) {
	rules := loopback.Rules{Setting: "CorsAllowedOrigins"}
	for header, want := range map[string]bool{"Origin": true, "Sec-Fetch-Site": false} {
		r := httptest.NewRequest("GET", "http://127.0.0.1:3000/", nil)
		r.Header.Set(header, "http://127.0.0.1:8080")
		w := httptest.NewRecorder()
		rules.Handler(nil).ServeHTTP(w, r)
		if named := strings.Contains(w.Body.String(), "CorsAllowedOrigins"); w.Code != http.StatusForbidden || named != want {
			t.Errorf("%s: %d %s", header, w.Code, w.Body)
		}
	}
}
