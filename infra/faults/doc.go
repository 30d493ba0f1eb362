// Package faults makes a well-behaved local engine behave as badly as DynamoDB
// and SQS may: transactions that conflict, throttling, server errors, answers
// that are lost after the commit, requests that are applied long after the
// caller gave up, messages that are not sent. No local engine does any of it,
// and promises P4, P5, P8 and P9 are about nothing else.
//
// It sits where every request passes, at the HTTP transport, so that the code
// under test is the real code with the real SDK. It contains the wire format of
// the two services' requests and refusals, and chance, but nothing of sales,
// orders or tables.
//
// What it never does: lose a message that was acknowledged, or answer success
// for a request that was not applied. The real services do not, either. What a
// real queue does to a delivery (duplicate, delay, reorder) the local queue does
// by itself; a Config only carries those settings to it.
package faults
