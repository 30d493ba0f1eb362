// Package security attacks the running system: forged tokens, guessed ids, colliding
// keys, poisoned headers, hostile messages and schedules, and what the build depends
// on. The attacks use what an attacker could know, but nothing about the functions'
// implementation.
//
// The real functions run behind the local stack's gateway. One stack serves the whole
// package; its queue has no poller, so that a test decides when an order is finalized.
// The threat model is .github/SECURITY.md.
package security
