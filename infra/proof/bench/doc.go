// Command bench measures the cost of the functions on top of the AWS calls they must
// make: it alternates, in one process, the real handlers over the real clients and a
// bare side that makes the same calls with prepared inputs.
//
// AWS is a stub transport in memory, so this process's own CPU time and
// allocations are measured, without a network.
package main
