// Package enumerate runs small sales (scenarios.go) through every plan of a few faults, and
// checks the promises after each. A plan says which call has which fault, and between which
// two calls another's request runs. `make enumerate` runs it; infra/proof/harness has the fakes and
// the judges.
//
// To read it, begin with enumerate in enumerate.go: it repeats a scenario until the plan
// (plan.go) has walked through every choice of faults (faults.go). In each run the scenario
// acts (run.go), the faults stop, and what must be true of a quiet sale is checked
// (finish.go).
package enumerate
