package stack

import (
	"io"
	"net/http"
	"time"
)

// readLimit bounds how long a request's body may take to arrive. Otherwise a slow
// sender could hold a connection forever.
const readLimit = 30 * time.Second

// timeBodies bounds how long the bodies of a server's requests may take. It is not
// http.Server.ReadTimeout: that would continue while the handler runs, and cancel requests
// that wait for a slow function.
func timeBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			connection := http.NewResponseController(w)
			_ = connection.SetReadDeadline(time.Now().Add(readLimit))
			r.Body = &timedBody{r.Body, connection}
		}
		next.ServeHTTP(w, r)
	})
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
