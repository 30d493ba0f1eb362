package stack

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A token that the API refuses would make `make demo` and the live view's crowd say that the promises are broken.
func TestAStackWithAnotherIssuerGivesOnlyTokensThatItTakes(t *testing.T) {
	of := func(whom string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, whom) })
	}
	for _, tt := range []struct {
		issuer, query, want string
		status              int
	}{
		{"", "sub=a", "buyers", 200}, {"", "sub=a&role=viewer", "operators", 200},
		{"http://127.0.0.1:8088", "sub=a", "http://127.0.0.1:8088", 404}, {"http://127.0.0.1:8088", "sub=a&role=viewer", "operators", 200},
	} {
		s, w := &Stack{o: Options{Issuer: tt.issuer}}, httptest.NewRecorder()
		s.token(of("buyers"), of("operators")).ServeHTTP(w, httptest.NewRequest("GET", "/_local/token?"+tt.query, nil))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%q, %s: %d %s, want %d and %s", tt.issuer, tt.query, w.Code, w.Body, tt.status, tt.want)
		}
	}
}
