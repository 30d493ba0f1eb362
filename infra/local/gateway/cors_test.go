package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func corsHeadersOf(w *httptest.ResponseRecorder) map[string]string {
	got := map[string]string{}
	for name, values := range w.Header() {
		if strings.HasPrefix(name, "Access-Control-") {
			got[name] = strings.Join(values, ", ")
		}
	}
	return got
}

func TestCrossOriginRequests(t *testing.T) {
	config := &CORS{
		AllowOrigins:  []string{"http://localhost:5173", "https://shop.example"},
		AllowMethods:  []string{"GET", "POST"},
		AllowHeaders:  []string{"authorization", "idempotency-key"},
		ExposeHeaders: []string{"location"},
		MaxAge:        time.Minute,
	}
	f := &fakeInvoker{response: `{"statusCode":200}`}
	h := newGateway(t, append(routes("GET /a", "OPTIONS /a"), Route{Method: "GET", Path: "/private", Function: "P", Authorizer: testJWT()}), f, Options{CORS: config})
	readable := func(origin string) map[string]string {
		return map[string]string{"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": "location"}
	}
	preflight := func(origin string) map[string]string {
		all := readable(origin)
		all["Access-Control-Allow-Methods"] = "GET,POST"
		all["Access-Control-Allow-Headers"] = "authorization,idempotency-key"
		all["Access-Control-Max-Age"] = "60"
		return all
	}
	for _, c := range []struct {
		name, method, path, origin, asks string
		status, invocations              int
		want                             map[string]string
	}{
		{"a preflight is answered by the gateway", "OPTIONS", "/a", "http://localhost:5173", "POST", 204, 0, preflight("http://localhost:5173")},
		{"a preflight needs neither token nor route", "OPTIONS", "/private", "https://shop.example", "GET", 204, 0, preflight("https://shop.example")},
		{"a preflight of another origin allows nothing", "OPTIONS", "/a", "http://evil.example", "POST", 204, 0, map[string]string{}},
		{"OPTIONS without a question is a request", "OPTIONS", "/a", "", "", 200, 1, map[string]string{}},
		{"a request from an allowed origin is readable there", "GET", "/a", "https://shop.example", "", 200, 1, readable("https://shop.example")},
		{"a request from another origin is not", "GET", "/a", "http://evil.example", "", 200, 1, map[string]string{}},
		{"a refusal is readable too", "GET", "/private", "https://shop.example", "", 401, 0, readable("https://shop.example")},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.functions = nil
			r := httptest.NewRequest(c.method, c.path, nil)
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.asks != "" {
				r.Header.Set("Access-Control-Request-Method", c.asks)
			}
			w := serve(h, r)
			if w.Code != c.status || len(f.functions) != c.invocations {
				t.Errorf("answer %d after %d invocations, want %d after %d", w.Code, len(f.functions), c.status, c.invocations)
			}
			if diff := cmp.Diff(c.want, corsHeadersOf(w)); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("without a configuration the function is asked, and nothing is readable", func(t *testing.T) {
		r := httptest.NewRequest(http.MethodOptions, "/a", nil)
		r.Header.Set("Origin", "https://shop.example")
		r.Header.Set("Access-Control-Request-Method", "GET")
		w := serve(newGateway(t, routes("OPTIONS /a"), f, Options{}), r)
		if w.Code != http.StatusOK || len(corsHeadersOf(w)) != 0 {
			t.Errorf("answer %d, %v", w.Code, corsHeadersOf(w))
		}
	})
}
