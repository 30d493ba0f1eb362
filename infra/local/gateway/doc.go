// Package gateway is an Amazon API Gateway HTTP API on one machine: it routes a
// request, verifies its token, turns it into an event of payload format 2.0,
// invokes the route's function and turns the result into the response.
//
// It implements API Gateway's documented behaviour; it does not depend on what the
// functions do, how they are run, or who signs the tokens. Its own answers have API
// Gateway's body {"message":…}. Paths are matched unchanged: a http.ServeMux would
// clean and redirect them first.
package gateway
