// Package contract holds the HTTP API's contract, an OpenAPI 3.1 document, and
// judges requests and answers by it.
//
// A line in here knows the document and HTTP. It knows neither the functions nor
// the gateway: what they do is compared with the document in the tests, here with
// the real handlers in one process, in infra/e2e with the whole stack.
package contract
