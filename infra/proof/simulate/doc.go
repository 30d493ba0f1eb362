// Package simulate sells thousands of random sales in virtual time while functions, table,
// queue and event bus have every fault that they may have, and checks the promises. A seed
// determines everything, so each sale can be repeated. `make simulate` runs it; infra/proof/harness
// has the fakes and the judges.
//
// To read it, begin with Simulate in simulation.go. A draft is what a seed draws: sales,
// buyers, the operator's commands and the rates of faults (draft.go). They run as goroutines
// (buyers.go, operator.go, payments.go) whose turns the schedule orders (schedule.go); every
// call passes the network (faults.go), after which the watch reads what changed in the table
// (watch.go). In the end the faults stop, and what must be true of a quiet sale is checked
// (finish.go), also by the history of all answers (history.go). The table's stream and what
// is published of it run beside that (stream.go, publisher.go).
package simulate
