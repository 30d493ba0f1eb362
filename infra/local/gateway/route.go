package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Route sends one method and path to a function. There is no ANY, no $default and no {proxy+},
// which would take more than they name.
type Route struct {
	Method string
	// Path is a template such as /sales/{saleId}/orders.
	Path     string
	Function string
	// Authorizer is nil for a public route.
	Authorizer *JWT
	// Scopes are alternatives: a token needs one of them; empty requires none.
	Scopes []string
	// Throttle limits the route; the zero value sets no limit.
	Throttle Throttle
}

// kind orders segments by how specifically they match.
type kind int

const (
	literal kind = iota
	variable
)

type segment struct {
	kind kind
	// text is the decoded literal or the variable's name.
	text string
}

// Throttle is a token bucket: PerSecond tokens are added to it, up to Burst, and a
// request takes one.
type Throttle struct {
	PerSecond float64
	Burst     int
}

type compiled struct {
	Route
	bucket   *rate.Limiter // nil for no limit
	key      string
	segments []segment
	// rank orders routes by API Gateway's preference: the one with earlier literals first.
	rank []kind
}

// table holds the routes, the most specific first.
type table []compiled

var (
	methods      = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	variableName = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)
)

func newTable(routes []Route) (table, error) {
	var t table
	shapes := map[string]string{}
	for _, r := range routes {
		c, err := compile(r)
		if err != nil {
			return nil, fmt.Errorf("route %s %s: %w", r.Method, r.Path, err)
		}
		shape := c.shape()
		if other, ok := shapes[shape]; ok {
			return nil, fmt.Errorf("route %s %s: takes the same requests as %s", r.Method, r.Path, other)
		}
		shapes[shape] = c.key
		t = append(t, c)
	}
	slices.SortStableFunc(t, func(a, b compiled) int { return slices.Compare(a.rank, b.rank) })
	return t, nil
}

func compile(r Route) (compiled, error) {
	if r.Authorizer == nil && len(r.Scopes) > 0 {
		return compiled{}, errors.New("has scopes without an authorizer")
	}
	if r.Authorizer != nil {
		if err := r.Authorizer.check(); err != nil {
			return compiled{}, err
		}
	}
	if !slices.Contains(methods, r.Method) {
		return compiled{}, errors.New("has no HTTP method")
	}
	path, ok := strings.CutPrefix(r.Path, "/")
	if !ok {
		return compiled{}, errors.New("does not begin with /")
	}
	c := compiled{Route: r, key: r.Method + " " + r.Path}
	for part := range strings.SplitSeq(path, "/") {
		s, err := parseSegment(part)
		if err != nil {
			return compiled{}, err
		}
		c.segments = append(c.segments, s)
		c.rank = append(c.rank, s.kind)
	}
	if r.Throttle != (Throttle{}) {
		c.bucket = rate.NewLimiter(rate.Limit(r.Throttle.PerSecond), r.Throttle.Burst)
	}
	return c, nil
}

func parseSegment(part string) (segment, error) {
	inner, opens := strings.CutPrefix(part, "{")
	inner, closes := strings.CutSuffix(inner, "}")
	if opens && closes {
		if !variableName.MatchString(inner) {
			return segment{}, fmt.Errorf("has a variable without a valid name: %s", part)
		}
		return segment{kind: variable, text: inner}, nil
	}
	if strings.ContainsAny(part, "{}?#") {
		return segment{}, fmt.Errorf("has a segment that is neither text nor one variable: %s", part)
	}
	text, err := url.PathUnescape(part)
	if err != nil {
		return segment{}, err
	}
	return segment{kind: literal, text: text}, nil
}

// shape is equal for two routes that match the same requests, regardless of their
// variables' names.
func (c *compiled) shape() string {
	shape := c.Method
	for _, s := range c.segments {
		if s.kind == literal {
			shape += fmt.Sprintf("/%q", s.text)
		} else {
			shape += "/{}"
		}
	}
	return shape
}

var errPath = errors.New("not a percent-encoded path")

// match returns the route of a request, or nil. The path is split before it is decoded,
// so that an encoded slash stays within its segment.
func (t table) match(method, escapedPath string) (*compiled, map[string]string, error) {
	segments, err := splitPath(escapedPath)
	if err != nil {
		return nil, nil, err
	}
	for i := range t {
		c := &t[i]
		if c.Method != method {
			continue
		}
		if parameters, ok := c.take(segments); ok {
			return c, parameters, nil
		}
	}
	return nil, nil, nil
}

func splitPath(escaped string) ([]string, error) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, errPath
	}
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		text, err := url.PathUnescape(s)
		if err != nil {
			return nil, errPath
		}
		// An event is JSON: invalid UTF-8 becomes the replacement character, which the
		// function must handle.
		segments[i] = strings.ToValidUTF8(text, "\ufffd")
	}
	return segments, nil
}

// take matches decoded segments and returns the path parameters. A variable is never empty.
func (c *compiled) take(segments []string) (map[string]string, bool) {
	if len(segments) != len(c.segments) {
		return nil, false
	}
	var parameters map[string]string
	for i, want := range c.segments {
		switch got := segments[i]; {
		case want.kind == literal && got != want.text, want.kind == variable && got == "":
			return nil, false
		case want.kind == variable:
			if parameters == nil {
				parameters = map[string]string{}
			}
			parameters[want.text] = got
		}
	}
	return parameters, true
}

// CORS is the API's cross-origin configuration. No function sets such headers itself, which
// API Gateway would replace.
type CORS struct {
	AllowOrigins  []string // without wildcards
	AllowMethods  []string
	AllowHeaders  []string
	ExposeHeaders []string
	MaxAge        time.Duration // in whole seconds
}

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

// decorate adds the CORS headers to an answer.
func (c *CORS) decorate(header http.Header, origin string) {
	if c != nil && c.Allows(origin) {
		header.Set("Access-Control-Allow-Origin", origin)
		header.Set("Access-Control-Expose-Headers", strings.Join(c.ExposeHeaders, ","))
	}
}
