// Package contract contains the contracts of the buyers' and of the operators' HTTP API, two
// OpenAPI 3.1 documents, and checks requests and answers against them.
//
// It contains no code of the functions or the gateway. The tests compare these with the
// documents: here the real handlers in one process, in infra/proof/system the whole stack.
package contract
