// Package contract contains the HTTP API's contract, an OpenAPI 3.1 document, and
// checks requests and answers against it.
//
// It contains no code of the functions or the gateway. The tests compare these with the
// document: here the real handlers in one process, in infra/proof/e2e the whole stack.
package contract
