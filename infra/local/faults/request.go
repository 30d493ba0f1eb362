package faults

import "encoding/json"

type class int

const (
	untouched   class = iota // not a call of data: passes unchanged
	read                     // but for those of a transaction
	write                    // of one item
	transaction              // writes or reads of many items
	batch                    // of statements, which conflict one by one on AWS; here they never do
	sending                  // of messages
)

const dynamoPrefix = "DynamoDB_20120810."

// classes has the calls of the functions.
var classes = map[string]class{
	dynamoPrefix + "GetItem": read, dynamoPrefix + "BatchGetItem": read, dynamoPrefix + "Query": read, dynamoPrefix + "Scan": read,
	dynamoPrefix + "PutItem": write, dynamoPrefix + "UpdateItem": write, dynamoPrefix + "DeleteItem": write,
	dynamoPrefix + "TransactGetItems": transaction, dynamoPrefix + "TransactWriteItems": transaction, dynamoPrefix + "BatchExecuteStatement": batch,
	"AmazonSQS.SendMessage": sending,
}

// request is the part of a request that the faults depend on.
type request struct {
	class   class
	actions int // of a transaction
}

// readRequest reads a request's X-Amz-Target and body. An invalid transaction has no actions:
// the engine will refuse it.
func readRequest(target string, body []byte) request {
	c := request{class: classes[target]}
	var read struct{ TransactItems []json.RawMessage }
	if c.class == transaction && json.Unmarshal(body, &read) == nil {
		c.actions = len(read.TransactItems)
	}
	return c
}
