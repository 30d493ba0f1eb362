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
	// maxEventBytes is Lambda's limit of an event. A body goes into it, as Base64
	// where it is not text, so an HTTP API's own limit of 10 MB is never reached.
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

// readBody fails with *http.MaxBytesError beyond the limit, before reading
// anything when the request says its length, and with os.ErrDeadlineExceeded if
// the body takes longer than the limit to arrive.
func readBody(w http.ResponseWriter, r *http.Request, limit time.Duration) ([]byte, error) {
	if r.ContentLength > maxEventBytes {
		return nil, &http.MaxBytesError{Limit: maxEventBytes}
	}
	if r.ContentLength == 0 {
		return nil, nil
	}
	// It fails for a writer without a connection, for which nobody waits.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(limit))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEventBytes))
	if err == nil {
		// The server goes on reading to notice when the client leaves.
		_ = connection.SetReadDeadline(time.Time{})
	}
	return body, err
}

// isText says whether an event holds the body as it is: of the content types
// only these, and only if JSON can carry the bytes unchanged. Forms are not among them.
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
