package gateway

import (
	"maps"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func routes(keys ...string) []Route {
	var all []Route
	for _, key := range keys {
		method, path, _ := strings.Cut(key, " ")
		all = append(all, Route{Method: method, Path: path, Function: key})
	}
	return all
}

func TestTheClosestRouteTakesTheRequest(t *testing.T) {
	table := newTable(routes(
		"GET /pets/{id}",
		"GET /pets/dog",
		"GET /{kind}/dog",
		"GET /sales/{saleId}",
		"GET /sales/{saleId}/orders/me",
		"GET /sales/{saleId}/orders/{order}",
		"GET /",
		"GET /cats/",
	))
	for _, c := range []struct {
		request string
		want    string
		params  map[string]string
	}{
		{"GET /pets/dog", "GET /pets/dog", nil},
		{"GET /pets/cat", "GET /pets/{id}", map[string]string{"id": "cat"}},
		{"GET /cats/dog", "GET /{kind}/dog", map[string]string{"kind": "cats"}},
		{"GET /sales/a/orders/me", "GET /sales/{saleId}/orders/me", map[string]string{"saleId": "a"}},
		{"GET /sales/a/orders/1", "GET /sales/{saleId}/orders/{order}", map[string]string{"saleId": "a", "order": "1"}},
		{"GET /", "GET /", nil},
		{"GET /cats/", "GET /cats/", nil},
		{"GET /sales/a%2Fb", "GET /sales/{saleId}", map[string]string{"saleId": "a/b"}},
		{"GET /sales/a%20b+c", "GET /sales/{saleId}", map[string]string{"saleId": "a b+c"}},
		{"GET /%73ales/%E7%A7%92", "GET /sales/{saleId}", map[string]string{"saleId": "秒"}},
		{"GET /sales/%FF", "GET /sales/{saleId}", map[string]string{"saleId": "\ufffd"}},
		{"GET /sales/../orders/me", "GET /sales/{saleId}/orders/me", map[string]string{"saleId": ".."}},
		{"GET /sales", "", nil}, {"GET /sales/", "", nil}, {"GET /sales/a/", "", nil}, {"GET //sales/a", "", nil}, {"GET /sales//orders/me", "", nil},
		{"POST /sales/a", "", nil}, {"GET /Sales/a", "", nil}, {"GET /sales/a%2Forders%2Fme/x", "", nil},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		got, params, err := table.match(method, path)
		if (got == nil) != (c.want == "") || got != nil && got.key != c.want || err != nil || !maps.Equal(params, c.params) {
			t.Errorf("%s: %+v with %v, %v, want %q with %v", c.request, got, params, err, c.want, c.params)
		}
	}
	for _, path := range []string{"/%", "/a%2", "/%zz/b"} {
		if _, _, err := table.match("GET", path); err == nil {
			t.Errorf("%s can be decoded", path)
		}
	}
}

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
	h := newGateway(append(routes("GET /a", "OPTIONS /a"), Route{Method: "GET", Path: "/private", Function: "P", Authorizer: testJWT()}), f, Options{CORS: config})
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
			w := serve(h, request(c.method, c.path, "", "Origin", c.origin, "Access-Control-Request-Method", c.asks))
			if w.Code != c.status || len(f.functions) != c.invocations {
				t.Errorf("answer %d after %d invocations, want %d after %d", w.Code, len(f.functions), c.status, c.invocations)
			}
			if diff := cmp.Diff(c.want, corsHeadersOf(w)); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}
