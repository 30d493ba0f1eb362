// Package engine runs dynoxide, the program that replaces DynamoDB on one machine, and
// creates the template's tables in it.
//
// It handles the program's arguments and DynamoDB's table operations, but not the
// items. The program is one process with one writer: it never causes conflicts,
// throttling or lost replies. What it does with streams is in stream.go.
package engine
