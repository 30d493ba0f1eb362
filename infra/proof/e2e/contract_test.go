package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"flashsale/infra/proof/contract"
)

// The contracts of the two APIs, read once.
var (
	document          = sync.OnceValues(func() (*contract.Contract, error) { return contract.Open(contract.Buyers) })
	operatorsDocument = sync.OnceValues(func() (*contract.Contract, error) { return contract.Open(contract.Operators) })
)

// checked checks every answer of the two APIs in a test against their contracts, except
// local-only routes and the Invoke API.
func (s *stack) checked(base http.RoundTripper) http.RoundTripper {
	if *withLast {
		base = versioned{base}
	}
	for port, opened := range map[int]func() (*contract.Contract, error){s.at.Ports[0]: document, s.at.Ports[4]: operatorsDocument} {
		c, err := opened()
		if err != nil {
			s.t.Fatal(err)
		}
		base = &contract.Transport{
			Contract: c, Base: base,
			Covers: func(r *http.Request) bool {
				return r.URL.Port() == strconv.Itoa(port) && !strings.HasPrefix(r.URL.Path, "/_local/")
			},
			Broken: func(err error) { s.t.Error(err) },
		}
	}
	return base
}

// versioned gives an answer without a release's name one: releases before 0.6.0 have none, and
// otherwise keep the contract.
type versioned struct{ base http.RoundTripper }

// RoundTrip sends a request.
func (n versioned) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := n.base.RoundTrip(r)
	if err == nil && answer.Header.Get("Flashsale-Version") == "" {
		answer.Header.Set("Flashsale-Version", "0.5.0")
	}
	return answer, err
}
