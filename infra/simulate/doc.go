// Package simulate proves the promises by running the functions' real handlers
// through more accidents than any engine could be talked into: once through
// every plan of a few faults in a small scenario, and once through thousands of
// random sales in virtual time, each of which its seed brings back.
//
// It judges by the promises, the functions' answers and the table as its
// documentation describes it. The judge shares no code with what wrote the table,
// so a fault of the ledger cannot hide in it.
//
// Everything runs inside a testing/synctest bubble: no instant is real, waiting
// costs nothing, and nothing outside of the process is ever called. Of what AWS
// does it leaves out the gateway's own refusals, limits of size and the killing
// of an invocation at its timeout: an invocation that would need to be killed is
// a violation (P16).
package simulate
