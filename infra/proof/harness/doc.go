// Package harness runs the functions' real handlers in one process, and judges what they
// did. It is what infra/proof/enumerate and infra/proof/simulate share; they decide which faults happen
// when.
//
// A World is the system: a table, a queue (queue.go), and the environments of the functions
// (world.go), which take the requests of buyers and operators (requests.go). Every outside
// call of an environment passes the World's Interceptor, which may let it fail or hang, or
// end the environment (calls.go). The Bus is where order events go (bus.go), from the records
// of the table's stream (records.go).
//
// The judges check the promises, the functions' answers and the table as documented: Books
// what the table says of a sale (books.go), EventJudge what must be on the bus (events.go),
// Payment what its provider must be told (webhooks.go). They share no code with the ledger,
// so they do not share its faults.
//
// Everything runs inside a testing/synctest bubble: time is virtual, waiting costs nothing,
// and nothing outside the process is called. Not there are the gateway's own refusals, size
// limits and the killing of an invocation at its timeout: an invocation that reaches its
// timeout is a violation (P16). Only PublishFunction's may hang until then.
package harness
