package stack

import (
	"io"
	"net"
	"net/http"
	"time"
)

// readLimit bounds how long a request's body may take to arrive. Otherwise a slow
// sender could hold a connection forever.
const readLimit = 30 * time.Second

// guard protects a server on this machine from foreign web pages. A page in the
// developer's browser can send requests to loopback ports, directly or through a name
// that resolves to 127.0.0.1 (DNS rebinding). So the Host must be a loopback one, and
// an Origin, which browsers add, must be the server's own or allowed.
func guard(next http.Handler, allowed func(origin string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, browser := r.Header["Origin"]
		own := len(origin) == 1 && (origin[0] == "http://"+r.Host || allowed(origin[0]))
		if !isLoopback(r.Host) || browser && !own {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"message":"Forbidden"}`)
			return
		}
		if r.ContentLength != 0 {
			// Not http.Server.ReadTimeout: it would continue while the handler runs,
			// and cancel requests that wait for a slow function.
			connection := http.NewResponseController(w)
			_ = connection.SetReadDeadline(time.Now().Add(readLimit))
			r.Body = &timedBody{r.Body, connection}
		}
		next.ServeHTTP(w, r)
	})
}

// noOrigin allows only the server's own pages.
func noOrigin(string) bool { return false }

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

// timedBody removes the read deadline once the body is complete: the server continues
// to read to detect that the client leaves.
type timedBody struct {
	io.ReadCloser
	connection *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}
