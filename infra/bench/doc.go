// Command bench measures what the functions cost above the AWS calls they must
// make: the real handlers over the real clients, beside a bare side that makes
// the very same calls with inputs built before, in turns, in one process.
//
// AWS is a stub transport in memory, so this process's own CPU time and
// allocations are measured, without a network.
package main
