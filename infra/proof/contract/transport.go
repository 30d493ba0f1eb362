package contract

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport checks every answer that passes through it, and every request that was not refused.
type Transport struct {
	Contract *Contract
	Base     http.RoundTripper
	// Covers reports whether the contract applies to a request.
	Covers func(*http.Request) bool
	// Broken is called for everything outside the contract; it must be safe for concurrent
	// use.
	Broken func(error)
}

// RoundTrip implements http.RoundTripper. The answer is passed on, even if it breaks
// the contract. An incomplete body is an error, as it would be for a later reader.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.Base.RoundTrip(r)
	if err != nil || !t.Covers(r) {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err := t.Contract.CheckExchange(r, Answer{Status: response.StatusCode, Header: response.Header, Body: body}); err != nil {
		t.Broken(err)
	}
	return response, nil
}
