package gateway

import (
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxEventBytes is Lambda's limit for an event. The event contains the body, as
	// Base64 if it is not text, so an HTTP API's own limit of 10 MB is never reached.
	maxEventBytes = 6 << 20
	// maxHeadBytes is an HTTP API's limit for the request line and all headers.
	maxHeadBytes = 10240
)

// headBytes is the size of the request line and headers as HTTP/1.1 writes them.
func headBytes(r *http.Request) int {
	const lineEnd, separator = 2, 2
	size := len(r.Method) + 1 + len(r.RequestURI) + 1 + len(r.Proto) + lineEnd
	size += len("Host") + separator + len(r.Host) + lineEnd
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + separator + len(value) + lineEnd
		}
	}
	return size
}

// readBody fails with *http.MaxBytesError beyond the size limit, before reading
// anything if the request gives its length, and with os.ErrDeadlineExceeded if the body
// takes longer than limit to arrive.
func readBody(w http.ResponseWriter, r *http.Request, limit time.Duration) ([]byte, error) {
	if r.ContentLength > maxEventBytes {
		return nil, &http.MaxBytesError{Limit: maxEventBytes}
	}
	if r.ContentLength == 0 {
		return nil, nil
	}
	// It fails only for a writer without a connection, which needs no deadline.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(limit))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEventBytes))
	if err == nil {
		// The server continues to read to detect that the client leaves.
		_ = connection.SetReadDeadline(time.Time{})
	}
	return body, err
}

// isText reports whether an event contains the body unencoded: only for these content
// types (not for forms), and only if JSON can carry the bytes unchanged.
func isText(contentType string, body []byte) bool {
	if !utf8.Valid(body) {
		return false
	}
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	if strings.HasPrefix(media, "text/") {
		return true
	}
	subtype, ok := strings.CutPrefix(media, "application/")
	if !ok {
		return false
	}
	switch subtype {
	case "json", "javascript", "xml":
		return true
	}
	return strings.HasSuffix(subtype, "+json") || strings.HasSuffix(subtype, "+xml")
}
