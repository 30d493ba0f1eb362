package stack

import (
	"flashsale/infra/local/lambda"
	"flashsale/infra/local/template"
)

// maxProcesses bounds the processes per function, in addition to the template's reserved
// concurrency. It suits a machine of a few cores.
const maxProcesses = 12

// maxExecutions returns how many executions of a function may run at a time here, each in a process
// of its own.
func maxExecutions(f template.Function) int {
	if f.ReservedConcurrency > 0 {
		return min(f.ReservedConcurrency, maxProcesses)
	}
	return maxProcesses
}

// queueing is how many times the concurrency may run and wait here, unless one is asked for. An
// invocation counts while it waits for a process. On AWS the template's 400 environments answer some
// 20,000 purchases a second, and nobody waits; here a queue of 400 is one slow second of a rush.
const queueing = 10

// throttles are the account's concurrency and that of a function, 0 if it reserves none. A function that
// has all its environments here is throttled as on AWS, so that two runs of one never overlap or queue.
func (s *Stack) throttles() (account int, reserved func(template.Function) int) {
	if s.o.Concurrency != 0 {
		return s.o.Concurrency, func(f template.Function) int { return f.ReservedConcurrency }
	}
	return queueing * lambda.AccountConcurrency, func(f template.Function) int {
		if f.ReservedConcurrency <= maxProcesses {
			return f.ReservedConcurrency
		}
		return queueing * f.ReservedConcurrency
	}
}
