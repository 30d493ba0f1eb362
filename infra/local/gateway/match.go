package gateway

import (
	"errors"
	"net/url"
	"strings"
)

var errPath = errors.New("not a percent-encoded path")

// match returns the route of a request, or nil. The path is split before it is decoded,
// so that an encoded slash stays within its segment.
func (t *table) match(method, escapedPath string) (*compiled, map[string]string, error) {
	segments, err := splitPath(escapedPath)
	if err != nil {
		return nil, nil, err
	}
	for i := range t.routes {
		c := &t.routes[i]
		if c.Method != method && c.Method != anyMethod {
			continue
		}
		if parameters, ok := c.take(segments); ok {
			return c, parameters, nil
		}
	}
	return t.fallback, nil, nil
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
	var parameters map[string]string
	for i, want := range c.segments {
		if i >= len(segments) {
			return nil, false
		}
		got := segments[i]
		if want.kind == greedy {
			got = strings.Join(segments[i:], "/")
			segments = segments[:i+1]
		}
		if want.kind == literal {
			if got != want.text {
				return nil, false
			}
			continue
		}
		if got == "" {
			return nil, false
		}
		if parameters == nil {
			parameters = map[string]string{}
		}
		parameters[want.text] = got
	}
	return parameters, len(segments) == len(c.segments)
}
