package contract

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport checks every answer that comes through it.
type Transport struct {
	Contract *Contract
	Base     http.RoundTripper
	// Covers says which requests the contract is about; nil means all.
	Covers func(*http.Request) bool
	// Met, if not nil, is told of every answer within the contract, and Broken of
	// every other one; both may be called by many goroutines at once.
	Met    func(Outcome)
	Broken func(error)
}

// RoundTrip implements http.RoundTripper. The answer is passed on, whatever the
// contract says of it. One whose body does not arrive is an error, as it is for
// whoever reads it later.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.Base.RoundTrip(r)
	if err != nil || t.Covers != nil && !t.Covers(r) {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	outcome, err := t.Contract.Check(r.Method, r.URL, Answer{Status: response.StatusCode, Header: response.Header, Body: body})
	switch {
	case err != nil:
		t.Broken(err)
	case t.Met != nil:
		t.Met(outcome)
	}
	return response, nil
}

// CloseIdleConnections lets an http.Client end the connections that nobody uses.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.Base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}
