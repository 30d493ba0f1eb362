// Package poller does what Lambda's event source mapping for SQS does: it
// receives messages in batches, invokes a function with them, and deletes the
// ones that the function dealt with.
//
// It knows SQS's client API and Lambda's event and response formats, not how a
// function is run and not what a message means. Messages that are not deleted
// come back by themselves after the queue's visibility timeout, and go to the
// dead-letter queue after its receive count: both are the queue's work.
package poller
