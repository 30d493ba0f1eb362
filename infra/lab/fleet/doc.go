// Package fleet runs the application servers: processes of this very program,
// each hosting one strategy, which buyers reach over loopback.
//
// It can interrupt a purchase at a named point. It contains nothing of the
// strategies or the scenarios.
package fleet
