// Package sqs is Amazon SQS for one machine: standard queues behind the AWS JSON 1.0
// protocol, kept in memory. When the server ends its messages are gone: the table says
// which orders are still to be finalized, and ReconcileFunction sends their messages
// again. A message does not expire before that, whatever its queue's retention period.
//
// It implements the operations that this project uses (see operations in protocol.go)
// with the protocol and the rules of Amazon SQS, and contains nothing of orders,
// functions or templates. In production the real service takes its place.
package sqs
