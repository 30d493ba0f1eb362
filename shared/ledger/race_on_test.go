//go:build race

package ledger_test

// auditedClaims is the size of the largest sale that is audited. It is several times as
// slow with the race detector.
const auditedClaims = 100_000
