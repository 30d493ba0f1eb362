package issuer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	defaultTTL = time.Hour
	// maxTTL keeps every expiry within a token's range.
	maxTTL = 10 * 365 * 24 * time.Hour
)

// Handler serves the issuer below /_local/:
//
//	/_local/token?sub=alice[&ttl=3600][&scope=…][&aud=…][&client_id=…]
//	/_local/jwks.json
//	/_local/.well-known/openid-configuration
//	/_local/authorize, /_local/oauth2/token: the code flow with PKCE, for the buyer's page
//
// The token is the bare body, so that a shell can use it. ttl is in seconds, an
// hour by default; a negative one makes an expired token. aud may be repeated.
func (i *Issuer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_local/token", i.serveToken)
	mux.HandleFunc("GET /_local/jwks.json", i.serveKeys)
	mux.HandleFunc("GET /_local/.well-known/openid-configuration", i.serveDiscovery)
	mux.HandleFunc("GET "+AuthorizePath, i.serveAuthorize)
	mux.HandleFunc("POST "+AuthorizePath, i.serveAuthorize)
	mux.HandleFunc("POST "+TokenPath, i.serveExchange)
	return mux
}

func (i *Issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	// Without this a cache would return the same token again, by then expired.
	w.Header().Set("Cache-Control", "no-store")
	claims, err := claimsOf(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	token, err := i.Token(claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, token)
}

func claimsOf(rawQuery string) (Claims, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return Claims{}, fmt.Errorf("read query: %w", err)
	}
	for name, values := range query {
		for _, value := range values {
			if !utf8.ValidString(value) {
				return Claims{}, fmt.Errorf("%q is not valid UTF-8", name)
			}
		}
	}
	c := Claims{
		Subject:  query.Get("sub"),
		Audience: query["aud"],
		ClientID: query.Get("client_id"),
		Scope:    query.Get("scope"),
		TTL:      defaultTTL,
	}
	if c.Subject == "" {
		return Claims{}, errors.New("sub is missing: use /_local/token?sub=alice")
	}
	if text := query.Get("ttl"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if limit := int64(maxTTL / time.Second); err != nil || seconds > limit || seconds < -limit {
			return Claims{}, fmt.Errorf("ttl must be a whole number of seconds between -%d and %[1]d", limit)
		}
		c.TTL = time.Duration(seconds) * time.Second
	}
	return c, nil
}

func (i *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(i.jwks)
}

func (i *Issuer) serveDiscovery(w http.ResponseWriter, _ *http.Request) {
	document, err := json.Marshal(map[string]any{
		"issuer":                                i.url,
		"jwks_uri":                              strings.TrimSuffix(i.url, "/") + "/jwks.json",
		"id_token_signing_alg_values_supported": []string{"RS256"},
		"authorization_endpoint":                strings.TrimSuffix(i.url, "/") + strings.TrimPrefix(AuthorizePath, "/_local"),
		"token_endpoint":                        strings.TrimSuffix(i.url, "/") + strings.TrimPrefix(TokenPath, "/_local"),
		"code_challenge_methods_supported":      []string{"S256"},
		"response_types_supported":              []string{"code"},
		"subject_types_supported":               []string{"public"},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(document)
}
