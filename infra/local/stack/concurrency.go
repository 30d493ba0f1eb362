package stack

import (
	"flashsale/infra/local/lambda"
	"flashsale/infra/local/template"
)

// AtOnce bounds the executions of a function at a time, in addition to the template's reserved
// concurrency, unless another number is asked for. It suits a machine of a few cores.
const AtOnce = 12

// atOnce returns how many executions of a function may run at a time here.
func (s *Stack) atOnce(f template.Function) int {
	if f.ReservedConcurrency > 0 {
		return min(f.ReservedConcurrency, s.o.AtOnce)
	}
	return s.o.AtOnce
}

// places returns how many of them share a process. What schedules run keeps state from one run to the
// next, so it has the process for itself.
func (s *Stack) places(f template.Function) int {
	if len(f.Schedules) > 0 {
		return 1
	}
	return s.atOnce(f)
}

// queueing is how many times the concurrency may run and wait here, unless one is asked for. An
// invocation counts while it waits for a place. On AWS the template's 400 environments answer some
// 20,000 purchases a second, and nobody waits; here a queue of 400 is one slow second of a rush.
const queueing = 10

// throttles are the account's concurrency and that of a function, 0 if it reserves none. A function that
// has all its environments here is throttled as on AWS, so that two runs of one never overlap or queue.
func (s *Stack) throttles() (account int, reserved func(template.Function) int) {
	if s.o.Concurrency != 0 {
		return s.o.Concurrency, func(f template.Function) int { return f.ReservedConcurrency }
	}
	return queueing * lambda.AccountConcurrency, func(f template.Function) int {
		if f.ReservedConcurrency <= s.o.AtOnce {
			return f.ReservedConcurrency
		}
		return queueing * f.ReservedConcurrency
	}
}
