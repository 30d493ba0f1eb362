package gateway

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"

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
	if len(r.MultiValueHeaders) > 0 || len(r.Cookies) > 0 {
		return answer{}, errors.New("cookies and multi-value headers do not run locally: no function returns them")
	}
	// An interim (1xx) status is not a final response.
	if r.StatusCode < 200 || r.StatusCode > 599 {
		return answer{}, fmt.Errorf("status code %d is not between 200 and 599", r.StatusCode)
	}
	header := http.Header{}
	for name, value := range r.Headers {
		header.Set(name, value)
	}
	// The gateway sets these itself.
	for name := range connectionHeaders {
		header.Del(name)
	}
	header.Del("Content-Length")
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	body := []byte(r.Body)
	if r.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return answer{}, fmt.Errorf("decode body: %w", err)
		}
	}
	return answer{status: r.StatusCode, header: header, body: body}, nil
}

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

// write leaves it to the server that an answer to HEAD, and one without content, has no body.
func (a answer) write(w http.ResponseWriter) {
	header := w.Header()
	maps.Copy(header, a.header)
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}
