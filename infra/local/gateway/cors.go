package gateway

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CORS is the API's cross-origin configuration. Where it is set, the functions'
// own CORS headers are replaced.
type CORS struct {
	// AllowOrigins holds origins, or *, https://* or http://*.
	AllowOrigins     []string
	AllowMethods     []string
	AllowHeaders     []string
	ExposeHeaders    []string
	AllowCredentials bool
	// MaxAge is in whole seconds; zero leaves it to the browser, a negative one forbids
	// caching.
	MaxAge time.Duration
}

var corsHeaders = []string{
	"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
	"Access-Control-Expose-Headers", "Access-Control-Allow-Credentials", "Access-Control-Max-Age",
}

func (c *CORS) check() error {
	if c != nil && c.AllowCredentials && slices.Contains(c.AllowOrigins, "*") {
		return errors.New("CORS credentials cannot be allowed for every origin")
	}
	return nil
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// Allows reports whether pages of the origin may read the API's answers.
func (c *CORS) Allows(origin string) bool { return c.allowed(origin) != "" }

// allowed returns the value of Access-Control-Allow-Origin, empty if the origin is not
// allowed.
func (c *CORS) allowed(origin string) string {
	if origin == "" {
		return ""
	}
	for _, o := range c.AllowOrigins {
		scheme, wild := strings.CutSuffix(o, "*")
		switch {
		case o == "*":
			return "*"
		case o == origin, wild && strings.HasPrefix(origin, scheme):
			return origin
		}
	}
	return ""
}

func (c *CORS) preflight(origin string) answer {
	a := answer{status: http.StatusNoContent, header: http.Header{}}
	if c.allowed(origin) == "" {
		return a
	}
	if len(c.AllowMethods) > 0 {
		a.header.Set("Access-Control-Allow-Methods", strings.Join(c.AllowMethods, ","))
	}
	if len(c.AllowHeaders) > 0 {
		a.header.Set("Access-Control-Allow-Headers", strings.Join(c.AllowHeaders, ","))
	}
	if c.MaxAge != 0 {
		a.header.Set("Access-Control-Max-Age", strconv.Itoa(int(c.MaxAge/time.Second)))
	}
	return a
}

// strip removes a function's own CORS headers.
func (c *CORS) strip(header http.Header) {
	if c == nil {
		return
	}
	for _, name := range corsHeaders {
		header.Del(name)
	}
}

// decorate adds the CORS headers to an answer.
func (c *CORS) decorate(header http.Header, origin string) {
	if c == nil || c.allowed(origin) == "" {
		return
	}
	header.Set("Access-Control-Allow-Origin", c.allowed(origin))
	if c.AllowCredentials {
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	if len(c.ExposeHeaders) > 0 {
		header.Set("Access-Control-Expose-Headers", strings.Join(c.ExposeHeaders, ","))
	}
}
