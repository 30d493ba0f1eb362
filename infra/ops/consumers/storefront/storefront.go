// Package storefront serves example pages of a shop that sells in its own front end, from another origin than the API
// and under a strict content security policy. The pages of plain have a face of their own and the element; react is a
// project that is built, and miniprogram runs without a browser.
package storefront

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/loopback"
)

//go:embed plain
var plain embed.FS

// New returns the shop of an API, a local stack. files are its pages; nil is those of plain.
func New(api *client.Client, files fs.FS) http.Handler {
	if files == nil {
		files, _ = fs.Sub(plain, "plain")
	}
	rules := loopback.Rules{Links: func(*http.Request) bool { return true }} // back from the payment page
	return rules.Handler(&storefront{api: api, files: files})
}

type storefront struct {
	api   *client.Client
	files fs.FS
}

func (s *storefront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' "+s.api.API+"; connect-src 'self' "+s.api.API+
		"; style-src 'self'; img-src https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	switch {
	case name == "token":
		s.token(w, r)
	case name == "signin":
		s.signIn(w, r)
	case name == "" || strings.HasSuffix(name, ".html"):
		s.page(w, r, cmp.Or(name, "index.html"))
	default:
		http.ServeFileFS(w, r, s.files, name)
	}
}

// page fills in the addresses that a shop's own pages simply have.
func (s *storefront) page(w http.ResponseWriter, r *http.Request, name string) {
	text, err := fs.ReadFile(s.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		http.NotFound(w, r)
		return
	}
	page, wrong := template.New(name).Parse(string(text))
	if err := errors.Join(err, wrong); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, map[string]string{"API": s.api.API, "Sale": cmp.Or(r.FormValue("sale"), "demo")})
}

// token gives who is signed in a token, here of the local stack's issuer: a shop with sessions of its own makes it, as
// HTTP.md tells.
func (s *storefront) token(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	user, err := r.Cookie("user")
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	token, err := s.api.Token(r.Context(), user.Value)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	_, _ = w.Write([]byte(token))
}

// signIn signs in whoever comes, and leads back.
func (s *storefront) signIn(w http.ResponseWriter, r *http.Request) {
	user := cmp.Or(r.FormValue("user"), fmt.Sprintf("visitor-%d", time.Now().UnixMilli()))
	http.SetCookie(w, &http.Cookie{Name: "user", Value: user, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	w.Header().Set("Location", "/")
	if back := r.FormValue("back"); strings.HasPrefix(back, "/") && !strings.HasPrefix(back, "//") && !strings.HasPrefix(back, `/\`) {
		w.Header().Set("Location", back)
	}
	w.WriteHeader(http.StatusSeeOther)
}
