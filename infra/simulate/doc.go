// Package simulate proves the promises by running the functions' real handlers through
// more accidents than any engine could produce: through every plan of a few faults in
// small scenarios, and through thousands of random sales in virtual time, each
// reproducible by its seed.
//
// It checks the promises, the functions' answers and the table as documented. The
// checks share no code with the ledger, so they do not share its faults.
//
// Everything runs inside a testing/synctest bubble: time is virtual, waiting costs
// nothing, and nothing outside the process is called. It does not simulate the
// gateway's own refusals, size limits and the killing of an invocation at its timeout:
// an invocation that reaches its timeout is a violation (P16). Only PublishFunction's may
// hang until then.
package simulate
