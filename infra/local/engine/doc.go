// Package engine runs dynoxide, the program that stands in for DynamoDB on one
// machine, and makes the template's tables in it.
//
// It knows the program's arguments and DynamoDB's table operations, and nothing
// of what is stored. The program is one process with one writer: conflicts,
// throttling and lost replies never come from it.
package engine
