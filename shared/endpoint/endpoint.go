// Package endpoint caches the resolved endpoint of any AWS service. The SDK
// evaluates its rules on every call, about 5 % of a purchase's cost; the result
// never changes for a client.
package endpoint

import (
	"sync/atomic"

	transport "github.com/aws/smithy-go/endpoints"
)

// Place is everything that the endpoint of our calls depends on: the client's
// configuration and, for DynamoDB, the account of its credentials.
type Place struct {
	Region, URL          string
	AccountID, ByAccount string
	DualStack, FIPS      bool
}

// Memory caches the endpoint of the last place. It is safe for concurrent use; the zero
// Memory is empty.
type Memory struct{ last atomic.Pointer[known] }

type known struct {
	place    Place
	endpoint transport.Endpoint
}

// At returns the endpoint of a place: the cached one, or the result of find. An error
// is returned unchanged and not cached.
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
