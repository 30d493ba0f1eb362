package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func routes(keys ...string) []Route {
	var all []Route
	for _, key := range keys {
		method, path, ok := strings.Cut(key, " ")
		if !ok {
			method, path = "", key
		}
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
	} {
		t.Run(c.request, func(t *testing.T) {
			method, path, _ := strings.Cut(c.request, " ")
			got, params, err := table.match(method, path)
			if err != nil || got == nil {
				t.Fatalf("match: %v, %v", got, err)
			}
			if got.key != c.want {
				t.Errorf("route %q, want %q", got.key, c.want)
			}
			if diff := cmp.Diff(c.params, params); diff != "" {
				t.Errorf("path parameters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatNoRouteTakesIsNotFound(t *testing.T) {
	f := &fakeInvoker{response: `{"statusCode":200}`}
	h := newGateway(t, routes("POST /sales/{saleId}/orders", "GET /sales/{saleId}"), f, Options{})
	for _, request := range []string{
		"GET /", "GET /sales", "GET /sales/", "GET /sales/a/", "GET //sales/a", "GET /sales//orders", "POST /sales//orders",
		"POST /sales/a", "OPTIONS /sales/a", "GET /Sales/a", "POST /sales/a%2Forders", "GET /sales/a/b",
	} {
		t.Run(request, func(t *testing.T) {
			method, path, _ := strings.Cut(request, " ")
			w := serve(h, httptest.NewRequest(method, "http://api.example"+path, nil))
			wantMessage(t, w, http.StatusNotFound, "Not Found")
		})
	}
	if len(f.functions) != 0 {
		t.Errorf("functions %v were invoked", f.functions)
	}
}

func TestAPathThatCannotBeDecodedIsABadRequest(t *testing.T) {
	for _, path := range []string{"/%", "/a%2", "/%zz/b"} {
		if _, _, err := newTable(routes("GET /")).match("GET", path); err == nil {
			t.Errorf("match(%q) succeeded", path)
		}
	}
}
