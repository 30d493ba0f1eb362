// Package endpoint caches the resolved endpoint of any AWS service. The SDK
// evaluates its rules on every call, about 5 % of a purchase's cost; the result
// never changes for a client.
package endpoint

import (
	"sync/atomic"

	transport "github.com/aws/smithy-go/endpoints"
)

// Place is all that the endpoint of our calls depends on: what the client is
// configured with and, for DynamoDB, the account whose credentials it has.
type Place struct {
	Region, URL          string
	AccountID, ByAccount string
	DualStack, FIPS      bool
}

// Memory holds the endpoint of the last place. It is safe for concurrent use; the
// zero Memory is empty.
type Memory struct{ last atomic.Pointer[known] }

type known struct {
	place    Place
	endpoint transport.Endpoint
}

// At returns the endpoint of a place: the remembered one, or the one that find
// finds. An error is returned as it is and not remembered.
func (m *Memory) At(p Place, find func() (transport.Endpoint, error)) (transport.Endpoint, error) {
	if k := m.last.Load(); k != nil && k.place == p {
		return k.endpoint, nil
	}
	e, err := find()
	if err == nil {
		m.last.Store(&known{p, e})
	}
	return e, err
}
