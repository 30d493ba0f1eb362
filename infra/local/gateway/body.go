package gateway

import (
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

const (
	// maxBodyBytes is an HTTP API's payload limit.
	maxBodyBytes = 10 << 20
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
// anything when the request says its length.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBodyBytes {
		return nil, &http.MaxBytesError{Limit: maxBodyBytes}
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
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
