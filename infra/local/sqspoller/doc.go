// Package sqspoller does what Lambda's event source mapping for SQS does: it receives
// messages in batches, invokes a function with them, and deletes those that the
// function handled.
//
// It uses SQS's client API and Lambda's event and response formats; it neither runs
// functions nor interprets messages. Messages that are not deleted come back after the
// queue's visibility timeout, and go to the dead-letter queue after its receive count:
// the queue does both.
package sqspoller
