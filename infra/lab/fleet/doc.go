// Package fleet runs the application servers: processes of this very program,
// each hosting one strategy, which buyers reach over loopback.
//
// A line in here knows processes, HTTP and how to interrupt a purchase at a
// named point. It knows neither what a strategy does nor what a scenario is for.
package fleet
