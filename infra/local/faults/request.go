package faults

import (
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// class determines which faults an operation can have.
type class int

const (
	untouched   class = iota // not a call of data: passes unchanged
	read                     // also one in a transaction
	write                    // of one item
	transaction              // writes of many items, which it locks
	batch                    // of statements, which conflict one by one on AWS; here they never do
	sending                  // of messages
)

const dynamoPrefix = "DynamoDB_20120810."

// classes has the calls of the functions.
var classes = map[string]class{
	dynamoPrefix + "GetItem": read, dynamoPrefix + "BatchGetItem": read, dynamoPrefix + "Query": read, dynamoPrefix + "Scan": read,
	dynamoPrefix + "TransactGetItems": read,
	dynamoPrefix + "PutItem":          write, dynamoPrefix + "UpdateItem": write, dynamoPrefix + "DeleteItem": write,
	dynamoPrefix + "TransactWriteItems": transaction, dynamoPrefix + "BatchExecuteStatement": batch,
	"AmazonSQS.SendMessage": sending,
}

// call is the part of a request that the faults depend on.
type call struct {
	class class
	// items are the items that the call writes, or a transaction names, in order. An
	// unknown item is "" and never conflicts.
	items []string
}

// action identifies one item, by its key or, for a put, as a whole.
type action struct {
	TableName string
	Key, Item map[string]any
}

// item is the identity of the action's item.
func (a *action) item(keyNames []string) string {
	if a == nil {
		return ""
	}
	attributes := a.Key
	if attributes == nil {
		attributes = a.Item
	}
	values := []any{a.TableName}
	for _, name := range keyNames {
		if value, ok := attributes[name]; ok {
			values = append(values, name, value)
		}
	}
	text, err := json.Marshal(values) // map keys are sorted
	if len(values) == 1 || err != nil {
		return ""
	}
	return string(text)
}

// readCall reads a request's X-Amz-Target and body. An invalid request has no items:
// the engine will refuse it.
func readCall(target string, body []byte, keyNames []string) call {
	c := call{class: classes[target]}
	switch c.class {
	case write:
		var a action
		if json.Unmarshal(body, &a) == nil {
			c.items = []string{a.item(keyNames)}
		}
	case transaction:
		var request struct {
			TransactItems []struct{ Put, Update, Delete, ConditionCheck *action }
		}
		if json.Unmarshal(body, &request) != nil {
			return c
		}
		for _, t := range request.TransactItems {
			name := ""
			for _, a := range []*action{t.Put, t.Update, t.Delete, t.ConditionCheck} {
				if a != nil {
					name = a.item(keyNames)
				}
			}
			c.items = append(c.items, name)
		}
	}
	return c
}

// inFlight records which items are in a transaction. In DynamoDB an item can be in only
// one at a time; conflicting calls are refused.
type inFlight struct {
	mu    sync.Mutex
	until map[string]time.Time
	// order contains the same items, the first to become free in front: all are locked
	// for the same time. Each item is in it at most once.
	order []string
}

// lock returns which of the call's items are locked at now; if none is, a transaction
// locks its items for hold.
func (f *inFlight) lock(c call, now time.Time, hold time.Duration) (busy []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.order) > 0 && !f.until[f.order[0]].After(now) {
		delete(f.until, f.order[0])
		f.order = f.order[1:]
	}
	for i, item := range c.items {
		if _, occupied := f.until[item]; occupied && item != "" {
			busy = append(busy, i)
		}
	}
	if len(busy) > 0 || c.class != transaction {
		return busy
	}
	if f.until == nil {
		f.until = map[string]time.Time{}
	}
	for i, item := range c.items {
		// The engine refuses a transaction with a duplicate item.
		if item != "" && !slices.Contains(c.items[:i], item) {
			f.until[item] = now.Add(hold)
			f.order = append(f.order, item)
		}
	}
	return nil
}
