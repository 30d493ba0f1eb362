package gateway

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatAFunctionReturnsBecomesTheResponse(t *testing.T) {
	plain := http.Header{"Content-Type": {"application/json"}}
	for _, c := range []struct {
		name, response string
		status         int
		header         http.Header
		body           string
	}{
		{"a whole response", `{"statusCode":202,"headers":{"content-type":"text/plain","Location":"/x"},"body":"hi"}`,
			202, http.Header{"Content-Type": {"text/plain"}, "Location": {"/x"}}, "hi"},
		{"only a status code", `{"statusCode":404}`, 404, plain, ""},
		{"a base64 body", `{"statusCode":200,"isBase64Encoded":true,"body":"aGk="}`, 200, plain, "hi"},
		{"null headers", `{"statusCode":200,"headers":null,"cookies":null,"body":"hi"}`, 200, plain, "hi"},
		{"headers about the connection are dropped", `{"statusCode":200,"headers":{"Connection":"close","Content-Length":"99","Transfer-Encoding":"chunked","Apigw-Requestid":"forged"},"body":"hi"}`,
			200, plain, "hi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := serve(newGateway(t, routes("GET /"), &fakeInvoker{response: c.response}, Options{}), httptest.NewRequest(http.MethodGet, "/", nil))
			if w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("answer %d %q, want %d %q", w.Code, w.Body, c.status, c.body)
			}
			if id := w.Header().Get("Apigw-Requestid"); id == "" || id == "forged" {
				t.Errorf("apigw-requestid is %q", id)
			}
			w.Header().Del("Apigw-Requestid")
			w.Header().Del("Content-Length")
			if diff := cmp.Diff(c.header, w.Header()); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnUnusableResponseIsAnInternalServerError(t *testing.T) {
	for name, response := range map[string]string{
		"nothing":                       "",
		"no JSON":                       "hello",
		"a status code that is text":    `{"statusCode":"ok"}`,
		"no status code":                `{"message":"hi"}`,
		"a status code by another name": `{"StatusCode":200}`,
		"a status code too low":         `{"statusCode":101}`,
		"a status code too high":        `{"statusCode":600}`,
		"a body that is an object":      `{"statusCode":200,"body":{}}`,
		"a body that is not base64":     `{"statusCode":200,"isBase64Encoded":true,"body":"%"}`,
		"a cookie":                      `{"statusCode":200,"cookies":["a=1"]}`,
		"a header of several values":    `{"statusCode":200,"multiValueHeaders":{"X":["a","b"]}}`,
		"a header value that is a list": `{"statusCode":200,"headers":{"X":["a"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			h := newGateway(t, routes("GET /"), &fakeInvoker{response: response}, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			w := serve(h, httptest.NewRequest(http.MethodGet, "/", nil))
			wantMessage(t, w, http.StatusInternalServerError, "Internal Server Error")
			if !strings.Contains(log.String(), "read response of GET /") || !strings.Contains(log.String(), w.Header().Get("Apigw-Requestid")) {
				t.Errorf("the log does not say why: %s", &log)
			}
		})
	}
}
