// Package gateway is an Amazon API Gateway HTTP API on one machine: it routes a
// request, verifies its token, turns it into an event of payload format 2.0,
// invokes the route's function and turns the result into the response.
//
// It knows API Gateway's documented behaviour and nothing of what the functions
// do, how they are run, or who signs the tokens. Whatever it answers itself has
// API Gateway's body {"message":…}. Paths are matched as they came: mounted on
// a http.ServeMux they would be cleaned and redirected first.
package gateway
