// Package faults makes a well-behaved local engine behave as badly as DynamoDB and SQS
// may: transactions that conflict, throttling, server errors, answers that are lost
// after the commit, requests that are applied long after the caller gave up, messages
// that are not sent. No local engine does any of this, and promises P4, P5, P8 and P9
// are about exactly these faults.
//
// It works at the HTTP transport, which every request passes, so that the code under
// test is the real code with the real SDK. It contains the wire format of the two
// services' requests and refusals, and randomness, but nothing of sales, orders or
// tables.
//
// It never loses an acknowledged message, or reports success for a request that was not
// applied; neither do the real services. The local queue itself duplicates, delays and
// reorders deliveries, and the local event bus fails by itself; a Config only contains the
// settings for them.
package faults
