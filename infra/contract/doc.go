// Package contract holds the HTTP API's contract, an OpenAPI 3.1 document, and
// judges requests and answers by it.
//
// It contains no code of the functions or the gateway. The tests compare what
// those do with the document: here with the real handlers in one process, in
// infra/e2e with the whole stack.
package contract
