// Package client reaches the running system as buyers and operators do: over its HTTP API and
// the Lambda Invoke API.
//
// It knows the documented contract of both and imports no code of the system, so that what
// judges an answer shares nothing with what gave it. Every request is made once; whether to
// repeat it is for the caller to decide. Package place, below, finds deployed systems, too.
package client
