// Package loopback protects the local stack's servers from web pages.
//
// A page in the developer's browser can send requests to every port of this machine, directly
// or through a name that resolves to 127.0.0.1 (DNS rebinding).
package loopback

import (
	"net"
	"net/http"
	"strings"
)

// Rules say what a server accepts from pages of other origins. The zero Rules accept nothing.
type Rules struct {
	// Origins reports whether pages of an origin may call the server; nil is none.
	Origins func(origin string) bool
	// Links reports whether a page of any origin may lead its reader to this address; nil
	// is none. The page cannot read the answer.
	Links func(*http.Request) bool
	// Setting is what names the origins, for whoever meets a refusal; "" if nothing does.
	Setting string
}

// Handler passes on requests of programs on this machine, which have a loopback Host and none
// of the headers that browsers add, and of pages: the server's own and those that the rules
// accept.
func (rules Rules) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) || !rules.accept(r) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(rules.refusal(r)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (rules Rules) refusal(r *http.Request) string {
	if rules.Setting == "" || len(r.Header["Origin"]) == 0 || !isLoopback(r.Host) {
		return `{"message":"Forbidden"}`
	}
	return `{"message":"Forbidden: the parameter ` + rules.Setting + ` does not name the origin of the page that asks"}`
}

func (rules Rules) accept(r *http.Request) bool {
	if origin, sent := r.Header["Origin"]; sent {
		return len(origin) == 1 && (origin[0] == "http://"+r.Host || rules.Origins != nil && rules.Origins(origin[0]))
	}
	// Browsers send no Origin with an image, a script or a link.
	switch strings.Join(r.Header["Sec-Fetch-Site"], ",") {
	case "", "none", "same-origin":
		return true
	}
	return rules.Links != nil && r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && rules.Links(r)
}

func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	switch name {
	case "127.0.0.1", "localhost", "::1", "[::1]":
		return true
	}
	return false
}
