//go:build race

package ledger_test

// auditedClaims is the size of the largest sale that is audited. The race
// detector makes it several times as slow.
const auditedClaims = 100_000
