package stack

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOnlyLoopbackHostsAndKnownOriginsAreServed(t *testing.T) {
	served := guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		func(origin string) bool { return origin == "https://shop.example" })
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
			w := httptest.NewRecorder()
			served.ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
		})
	}
}
