package faults

import (
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Proxy is a reverse proxy to target, through t. If t returns an error, the proxy
// breaks the connection, as the service itself would. One transport may serve several
// proxies.
func Proxy(target *url.URL, t http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: t,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			breakConnection(w)
		},
	}
}

// breakConnection ends the connection without an answer.
func breakConnection(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// HTTP/2 connections cannot be hijacked; the server ends the stream instead.
		panic(http.ErrAbortHandler)
	}
	_ = connection.Close()
}
