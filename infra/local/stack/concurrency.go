package stack

import "flashsale/infra/local/template"

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
