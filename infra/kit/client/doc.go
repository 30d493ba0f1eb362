// Package client reaches the running system as buyers and operators do: over its HTTP API and
// the Lambda Invoke API.
//
// It implements the documented contract of both and imports no code of the system, so that
// the checks share nothing with the code they check. Every request is sent once; the caller
// decides whether to repeat it. Package place, below, also finds deployed systems.
package client
