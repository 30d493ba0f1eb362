package guard_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"flashsale/infra/local/guard"
)

func status(rules guard.Rules, r *http.Request) int {
	w := httptest.NewRecorder()
	rules.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })).ServeHTTP(w, r)
	return w.Code
}

func TestOnlyLoopbackHostsAndKnownOriginsAreServed(t *testing.T) {
	shop := guard.Rules{Origins: func(origin string) bool { return origin == "https://shop.example" }}
	for _, tt := range []struct {
		name, host string
		origins    []string
		want       int
	}{
		{"a command on this machine", "127.0.0.1:3000", nil, 204},
		{"by name", "localhost:3000", nil, 204},
		{"by IPv6", "[::1]:3000", nil, 204},
		{"without a port", "127.0.0.1", nil, 204},
		{"the server's own page", "127.0.0.1:3000", []string{"http://127.0.0.1:3000"}, 204},
		{"a page that the template allows", "127.0.0.1:3000", []string{"https://shop.example"}, 204},
		{"a rebound name", "evil.example:3000", nil, 403},
		{"a rebound name's own page", "evil.example:3000", []string{"http://evil.example:3000"}, 403},
		{"a name that begins like a loopback address", "127.0.0.1.evil.example:3000", nil, 403},
		{"no host", "", nil, 403},
		{"another page", "127.0.0.1:3000", []string{"https://evil.example"}, 403},
		{"a page on another port", "127.0.0.1:3000", []string{"http://127.0.0.1:8080"}, 403},
		{"a page without an origin of its own", "127.0.0.1:3000", []string{"null"}, 403},
		{"an empty origin", "127.0.0.1:3000", []string{""}, 403},
		{"two origins", "127.0.0.1:3000", []string{"http://127.0.0.1:3000", "https://evil.example"}, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
			r.Host = tt.host
			if tt.origins != nil {
				r.Header["Origin"] = tt.origins
			}
			if got := status(shop, r); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
			// Without rules only the page that they name is refused, too.
			want := tt.want
			if len(tt.origins) == 1 && tt.origins[0] == "https://shop.example" {
				want = 403
			}
			if got := status(guard.Rules{}, r); got != want {
				t.Errorf("without rules: status %d, want %d", got, want)
			}
		})
	}
}

// Browsers send no Origin with these requests.
func TestAnotherSitesPageCanOnlyLinkToWhatTheRulesName(t *testing.T) {
	page := guard.Rules{Links: func(r *http.Request) bool { return r.URL.Path == "/s/demo" }}
	for _, tt := range []struct {
		name, method, path, site, mode string
		want, withoutRules             int
	}{
		{"an old browser's or a program's", "GET", "/s/demo", "", "", 204, 204},
		{"what somebody types", "GET", "/pay", "none", "navigate", 204, 204},
		{"the own page's script", "GET", "/pay", "same-origin", "no-cors", 204, 204},
		{"the own page's link", "GET", "/pay", "same-origin", "navigate", 204, 204},
		{"a foreign link to the page", "GET", "/s/demo", "cross-site", "navigate", 204, 403},
		{"a link from another port to the page", "GET", "/s/demo", "same-site", "navigate", 204, 403},
		{"a foreign link to something else", "GET", "/pay", "cross-site", "navigate", 403, 403},
		{"a foreign form", "POST", "/s/demo", "cross-site", "navigate", 403, 403},
		{"a foreign image", "GET", "/s/demo", "cross-site", "no-cors", 403, 403},
		{"another port's image", "GET", "/s/demo", "same-site", "no-cors", 403, 403},
		{"a site that nobody knows", "GET", "/s/demo", "elsewhere", "no-cors", 403, 403},
		{"an empty site twice", "GET", "/s/demo", ",", "no-cors", 403, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, "http://127.0.0.1:3000"+tt.path, nil)
			for name, value := range map[string]string{"Sec-Fetch-Site": tt.site, "Sec-Fetch-Mode": tt.mode} {
				for each := range strings.SplitSeq(value, ",") {
					if value != "" {
						r.Header.Add(name, each)
					}
				}
			}
			if got := status(page, r); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
			if got := status(guard.Rules{}, r); got != tt.withoutRules {
				t.Errorf("without rules: status %d, want %d", got, tt.withoutRules)
			}
		})
	}
}
