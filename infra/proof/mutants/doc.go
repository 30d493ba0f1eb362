// Package mutants runs the ledger's suite with its DynamoDB expressions without each of their terms in turn: a
// behaviour must fail. A change that survives means that a promise is no longer tested. Operators of Go code are
// changed by gremlins, in the nightly workflow.
package mutants
