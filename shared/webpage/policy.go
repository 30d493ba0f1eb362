package webpage

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// policy is the Content-Security-Policy of a page. Scripts may connect to its own
// origin and to the token endpoint's; pictures are of its own and of one other.
func policy(s SignIn, imageOrigin string) string {
	connect := "'self'"
	if origin, err := originOf(s.Token); err == nil && origin != "" {
		connect += " " + origin
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src " +
		strings.TrimSpace("'self' "+imageOrigin) + "; connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// originOf returns the origin of an endpoint, "" for one that is relative to the page's.
func originOf(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("read sign-in endpoint: %w", err)
	}
	relative := u.Scheme == "" && u.Host == "" && (endpoint == "" || strings.HasPrefix(endpoint, "/"))
	if relative {
		return "", nil
	}
	if !slices.Contains([]string{"https", "http"}, u.Scheme) || u.Host == "" || strings.ContainsAny(u.Host, ";, '") {
		return "", fmt.Errorf("read sign-in endpoint: %q is neither an absolute URL nor a path", endpoint)
	}
	return u.Scheme + "://" + u.Host, nil
}
