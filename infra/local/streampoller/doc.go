// Package streampoller does what Lambda's event source mapping for a DynamoDB stream does: it
// reads the stream's shards from the oldest record on, drops the records that match no filter,
// and invokes a function with batches of the others until each has succeeded once.
//
// It uses the client API of DynamoDB Streams and Lambda's event and response formats; it neither
// runs functions nor interprets items. The records of one item arrive in their order: a shard's
// items are divided among as many lanes as may run batches at once, and a lane repeats a batch,
// from the first record that failed, until it succeeds.
//
// How far a shard is done is on disk (checkpoint.go), written only after success. So a record
// may arrive twice after a crash, and none is left out. Differences from AWS: shards are polled
// by one process, a batch that fails is not joined by newer records, and it is repeated even when
// the stream has dropped its records.
package streampoller
