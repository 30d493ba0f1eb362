package dynamotest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Kind is what goes wrong with a call.
type Kind int

// The kinds of faults. An operation that cannot meet one goes on without it: a
// GetItem never conflicts.
const (
	// NoFault lets the call pass; Delay, ReplyDelay and Stale still apply.
	NoFault Kind = iota
	// Conflict refuses a write or a transaction, of reads too: another transaction or write
	// has Items of it in flight (all of them if Items is empty). Nothing is applied,
	// except in a batch of statements, where only Items are refused.
	Conflict
	// Throttle refuses the call for want of capacity. A transaction with Items
	// is cancelled with Code as their reason, of a batch of statements Items
	// alone are refused with Code, without Items the whole request is refused;
	// but for a batch's other statements nothing is applied.
	Throttle
	// ServerError answers InternalServerError; nothing is applied.
	ServerError
	// LostReply applies the call, whatever comes of it, and loses the answer:
	// the caller gets what Reply says.
	LostReply
	// ApplyLate answers what Reply says now and applies the call later: once
	// After has passed, or at ApplyPending if After is 0.
	ApplyLate
	// Unprocessed leaves Items of a BatchGetItem unread (all of them if Items is
	// empty, which DynamoDB answers with an exception).
	Unprocessed
	// Cancel cancels a TransactWriteItems with Codes as its reasons.
	Cancel
)

// Reply is what the caller of a lost or late call gets.
type Reply int

// The replies of lost calls.
const (
	// ReplyTimeout is a cancelled call with context.DeadlineExceeded in it.
	ReplyTimeout Reply = iota
	// ReplyInternalError is InternalServerError.
	ReplyInternalError
	// ReplyBrokenConnection is the SDK's error for a connection that broke.
	ReplyBrokenConnection
)

// Fault is what happens to one call. The zero value is nothing.
type Fault struct {
	Kind Kind
	// Items are indexes into Call.Keys, for Conflict, Throttle and Unprocessed.
	Items []int
	// Code is the reason of Throttle in a transaction or a batch of statements:
	// "ThrottlingError" (also if empty) or "ProvisionedThroughputExceeded".
	Code string
	// Codes are the reasons of Cancel, in the order of the request. "" is what the
	// item says by itself, "None" hides it: DynamoDB may give up a transaction for one
	// item before the others have answered.
	Codes []string
	// Reply is what the caller gets from LostReply and ApplyLate.
	Reply Reply
	// After is how much later ApplyLate applies the call.
	After time.Duration
	// Delay passes before anything else. A caller whose context ends in it gets
	// the SDK's error for that, and nothing is applied.
	Delay time.Duration
	// ReplyDelay passes between the evaluation and the answer. A caller whose
	// context ends in it gets the same error, and the call is applied.
	ReplyDelay time.Duration
	// Stale makes a read without ConsistentRead see every item as it was before
	// its last write.
	Stale bool
	// Hidden are indexes of a TransactWriteItems. For HiddenFor after its commit plain
	// reads, consistent ones too, see those items as they were before it, as readers
	// of DynamoDB may. Writes of those items, and of no others, conflict until then. The
	// answer must not come earlier, so ReplyDelay should not be less.
	Hidden    []int
	HiddenFor time.Duration
	// Torn are indexes of a BatchGetItem. Those items are as they were TornBy ago, because it reads item by
	// item; Delay should not be less, so that the call had begun by then.
	Torn   []int
	TornBy time.Duration
}

// Call is one valid call of an operation, as DB.Fault sees it.
type Call struct {
	// N counts the calls from 1, in the order in which they came.
	N int
	// Op is the operation: "GetItem", "TransactWriteItems" and so on.
	Op string
	// Keys are the items in the order of the request, each "pk|sk"; of a Query
	// the partition key, of a Scan nothing, of a statement that is refused for
	// what it says "".
	Keys []string
	// Input is the operation's input. It must not be changed.
	Input any
	// Context is the caller's.
	Context context.Context
}

// On is the fault of each call of that operation on an item that has that text in its key; ""
// is any operation, or any item. Other calls meet none.
func (f Fault) On(op, key string) func(Call) Fault {
	return On(op, key, func(Call) Fault { return f })
}

// On asks for the fault of each such call.
func On(op, key string, fault func(Call) Fault) func(Call) Fault {
	return func(c Call) Fault {
		isOn := func(item string) bool { return strings.Contains(item, key) }
		if op != "" && op != c.Op || key != "" && !slices.ContainsFunc(c.Keys, isOn) {
			return Fault{}
		}
		return fault(c)
	}
}

// transactional reports whether the call writes in a transaction.
func (c Call) transactional() bool { return c.Op == "TransactWriteItems" }

// cancellable reports whether the call is cancelled rather than refused.
func (c Call) cancellable() bool { return c.transactional() || c.Op == "TransactGetItems" }

// writing reports whether the call is a write of a single item.
func (c Call) writing() bool {
	return c.Op == "PutItem" || c.Op == "UpdateItem" || c.Op == "DeleteItem"
}

// batched reports whether the call is a batch of statements, which are refused
// one by one.
func (c Call) batched() bool { return c.Op == "BatchExecuteStatement" }

// hits reports whether the fault means the item of that index.
func (f Fault) hits(index int) bool {
	return len(f.Items) == 0 || slices.Contains(f.Items, index)
}

// hiding is how long the fault hides the item of that index; 0 is not at all.
func (f Fault) hiding(index int) time.Duration {
	if slices.Contains(f.Hidden, index) {
		return f.HiddenFor
	}
	return 0
}

// disguise replaces reasons by those of a Cancel, and reports whether there is
// one.
func (f Fault) disguise(reasons []types.CancellationReason) bool {
	if f.Kind != Cancel {
		return false
	}
	for i, code := range f.Codes[:min(len(f.Codes), len(reasons))] {
		if code != "" {
			reasons[i] = reason(code)
		}
	}
	return true
}

// refusal is the error of a fault that keeps the call from being evaluated, nil if it does
// not, and the refused call's cost in write units: of a conflict that of a small item's write,
// of everything else nothing.
func (f Fault) refusal(c Call) (cost float64, err error) {
	switch {
	case f.Kind == ServerError:
		return 0, internalError()
	case f.Kind == Conflict && c.transactional():
		return float64(transactional * len(c.Keys)), canceledBy(len(c.Keys), f.hits, reasonConflict)
	case f.Kind == Conflict && c.cancellable():
		return 0, canceledBy(len(c.Keys), f.hits, reasonConflict)
	case f.Kind == Conflict && c.writing():
		return 1, conflict()
	case f.Kind == Throttle && c.batched() && len(f.Items) > 0:
		return 0, nil // its statements are
	case f.Kind == Throttle && !c.cancellable():
		return 0, throughputExceeded()
	case f.Kind == Throttle && len(f.Items) == 0:
		return 0, &types.ThrottlingException{Message: aws.String("Rate of requests exceeds the allowed throughput")}
	case f.Kind == Throttle:
		return 0, canceledBy(len(c.Keys), f.hits, cmp.Or(f.Code, reasonThrottling))
	}
	return 0, nil
}
