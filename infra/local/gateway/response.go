package gateway

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json"
)

// decodeResponse reads a function's result as a response of payload format 2.0. API Gateway
// makes the body of a 200 of a result without a status code; no function here returns one, so it
// is an error. This decoder takes the exact names only, as API Gateway does.
func decodeResponse(payload []byte) (answer, error) {
	var r events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(payload, &r); err != nil {
		return answer{}, err
	}
	// An interim (1xx) status is not a final response.
	if r.StatusCode < 200 || r.StatusCode > 599 {
		return answer{}, fmt.Errorf("status code %d is not between 200 and 599", r.StatusCode)
	}
	header, err := responseHeader(r)
	if err != nil {
		return answer{}, err
	}
	body := []byte(r.Body)
	if r.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return answer{}, fmt.Errorf("decode body: %w", err)
		}
	}
	return answer{status: r.StatusCode, header: header, body: body}, nil
}

// responseHeader puts a multi-value header before a single one of the same name.
func responseHeader(r events.APIGatewayV2HTTPResponse) (http.Header, error) {
	header := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if err := set(header, name, r.Headers[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.MultiValueHeaders)) {
		if err := set(header, name, r.MultiValueHeaders[name]...); err != nil {
			return nil, err
		}
	}
	cookies := append(slices.Clone(header["Set-Cookie"]), r.Cookies...)
	if len(cookies) > 0 {
		if err := set(header, "Set-Cookie", cookies...); err != nil {
			return nil, err
		}
	}
	// The gateway sets these itself.
	for name := range connectionHeaders {
		header.Del(name)
	}
	header.Del("Content-Length")
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	return header, nil
}

// set refuses values that could inject a header line.
func set(header http.Header, name string, values ...string) error {
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !isTokenRune(c) }) {
		return fmt.Errorf("header name %q is not valid", name)
	}
	for _, value := range values {
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return fmt.Errorf("value of header %s contains a control character", name)
		}
	}
	header[textproto.CanonicalMIMEHeaderKey(name)] = values
	return nil
}

// isTokenRune follows RFC 9110's token.
func isTokenRune(c rune) bool {
	return c > ' ' && c < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

// answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   []byte
	// cause is logged and never sent.
	cause error
}

// refuse is the gateway's own answer; its message is the status's name.
func refuse(status int) answer {
	return answer{
		status: status,
		header: http.Header{"Content-Type": {"application/json"}},
		body:   fmt.Appendf(nil, `{"message":%q}`, http.StatusText(status)),
	}
}

func fail(status int, cause error) answer {
	a := refuse(status)
	a.cause = cause
	return a
}

func (a answer) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = values
	}
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		w.WriteHeader(a.status)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		w.Write(a.body)
	}
}
