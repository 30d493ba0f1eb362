// Package sqs is Amazon SQS for one machine: standard queues behind the AWS JSON 1.0
// protocol, kept in memory and, if a folder is given, in a journal that loses no
// acknowledged change.
//
// It implements the protocol and the rules of Amazon SQS and contains nothing of
// orders, functions or templates: any SQS client can use it, and in production
// the real service takes its place.
//
// The state changes through records only (record.go): an operation decides under the
// server's lock, applies its records and appends them to the journal, and answers after
// the group commit that contains them. Replaying the journal runs the same apply.
package sqs
