// Package bench measures the cost of the functions on top of the AWS calls they must
// make: one side of each benchmark is the real handler over the real clients, the other
// makes the same calls with prepared inputs. A run of the benchmarks is one round;
// `make bench` runs the compiled test several times, so that both sides alternate and a
// change of the machine affects both, and has benchstat compare them.
//
// AWS is an HTTP server in this process, so the process's own CPU time and allocations
// are measured, without a network.
package bench
