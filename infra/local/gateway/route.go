package gateway

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"flashsale/infra/local/template"
)

// Route is a route of the template with its authorizer, nil for a public one. There is no ANY, no $default and no
// {proxy+}, which would take more than they name.
type Route struct {
	template.Route
	JWT *JWT
}

type compiled struct {
	Route
	bucket *rate.Limiter // nil for no limit
	key    string
	// segments of the path; a variable keeps its braces.
	segments []string
}

// table holds the routes, the most specific first.
type table []compiled

func newTable(routes []Route) table {
	var t table
	for _, r := range routes {
		c := compiled{Route: r, key: r.Method + " " + r.Path, segments: strings.Split(r.Path, "/")}
		if r.Throttle != (template.Throttle{}) {
			c.bucket = rate.NewLimiter(rate.Limit(r.Throttle.PerSecond), r.Throttle.Burst)
		}
		t = append(t, c)
	}
	// API Gateway prefers the route with earlier literals.
	slices.SortStableFunc(t, func(a, b compiled) int {
		return slices.CompareFunc(a.segments, b.segments, func(a, b string) int {
			return cmp.Compare(len(variable(a)), len(variable(b)))
		})
	})
	return t
}

// variable returns the name of the variable that a segment of a route is, "" for a literal.
func variable(segment string) string {
	if name, ok := strings.CutPrefix(segment, "{"); ok {
		return strings.TrimSuffix(name, "}")
	}
	return ""
}

// match returns the route of a request, or nil. The path is split before it is decoded,
// so that an encoded slash stays within its segment.
func (t table) match(method, escapedPath string) (*compiled, map[string]string, error) {
	segments := strings.Split(escapedPath, "/")
	for i, s := range segments {
		text, err := url.PathUnescape(s)
		if err != nil {
			return nil, nil, err
		}
		// An event is JSON: invalid UTF-8 becomes the replacement character, which the
		// function must handle.
		segments[i] = strings.ToValidUTF8(text, "\ufffd")
	}
	for i := range t {
		if c := &t[i]; c.Method == method {
			if parameters, ok := c.take(segments); ok {
				return c, parameters, nil
			}
		}
	}
	return nil, nil, nil
}

// take matches decoded segments and returns the path parameters. A variable is never empty.
func (c *compiled) take(segments []string) (map[string]string, bool) {
	if len(segments) != len(c.segments) {
		return nil, false
	}
	var parameters map[string]string
	for i, got := range segments {
		name := variable(c.segments[i])
		switch {
		case name == "" && got != c.segments[i], name != "" && got == "":
			return nil, false
		case name != "":
			if parameters == nil {
				parameters = map[string]string{}
			}
			parameters[name] = got
		}
	}
	return parameters, true
}

// CORS is the API's cross-origin configuration, without wildcards. No function sets such headers itself, which
// API Gateway would replace.
type CORS template.CORS

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// Allows reports whether pages of the origin may read the API's answers.
func (c *CORS) Allows(origin string) bool { return slices.Contains(c.AllowOrigins, origin) }

func (c *CORS) preflight(origin string) answer {
	a := answer{status: http.StatusNoContent, header: http.Header{}}
	if c.Allows(origin) {
		a.header.Set("Access-Control-Allow-Methods", strings.Join(c.AllowMethods, ","))
		a.header.Set("Access-Control-Allow-Headers", strings.Join(c.AllowHeaders, ","))
		a.header.Set("Access-Control-Max-Age", strconv.Itoa(int(c.MaxAge/time.Second)))
	}
	return a
}

func (c *CORS) decorate(header http.Header, origin string) {
	if c != nil && c.Allows(origin) {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", strings.Join(c.ExposeHeaders, ","))
	}
}
