// Package simulate proves the promises by running the functions' real handlers
// through more accidents than any engine could be talked into: once through
// every plan of a few faults in a small scenario, and once through thousands of
// random sales in virtual time, each of which its seed brings back.
//
// A line in here knows the promises, the functions from outside and the table
// as its documentation describes it. It shares no code with what wrote the
// table when it judges, so that a fault of the ledger cannot hide in the judge.
//
// Everything runs inside a testing/synctest bubble: no instant is real, waiting
// costs nothing, and nothing outside of the process is ever called. Of what AWS
// does it leaves out the gateway's own refusals, limits of size and the killing
// of an invocation at its timeout: an invocation that would need to be killed is
// a violation (P16).
package simulate
