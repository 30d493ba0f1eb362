// Package mutants breaks the system on purpose and checks that its tests fail: named
// mutants, each with the test that must fail; the ledger's expressions without each of
// their terms; and, by `TestEveryOperatorIsNeeded`, the code of functions and shared with each operator
// changed. A surviving mutant means that a promise is no longer tested.
package mutants
