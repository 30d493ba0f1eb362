// Command bench measures what the functions cost above the AWS calls they must
// make: the real handlers over the real clients, beside a bare side that makes
// the very same calls with inputs built before, in turns, in one process.
//
// A line in here knows the handlers' events, the endpoints' wire format and a
// stopwatch. AWS is a stub in memory: what is measured is this process's own CPU
// time and allocations, never somebody's network.
package main
