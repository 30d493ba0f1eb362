package dynamotest

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"time"
)

// request is a valid request, ready to be evaluated now or later. It owns all
// it needs: nothing in it belongs to the caller any more.
type request struct {
	keys []string
	// evaluate answers the request; db.mu is held. It may run after the caller
	// has long gone.
	evaluate func(moment) (any, error)
}

// moment is what an evaluation knows beside its request.
type moment struct {
	now   time.Time
	fault Fault
}

// known are the parameters of each request that are read here.
var known = map[string][]string{
	"GetItemInput":      {"TableName", "Key", "ConsistentRead"},
	"BatchGetItemInput": {"RequestItems", "ReturnConsumedCapacity"},
	"KeysAndAttributes": {"Keys", "ConsistentRead"},
	"QueryInput":        append([]string{"KeyConditionExpression"}, pageParameters...),
	"ScanInput":         pageParameters,
	"PutItemInput":      append([]string{"Item"}, writeParameters...),
	"UpdateItemInput":   append([]string{"Key", "UpdateExpression", "ReturnValues", "ReturnConsumedCapacity"}, writeParameters...),
	"DeleteItemInput":   {"TableName", "Key"},

	"TransactGetItemsInput":      {"TransactItems"},
	"Get":                        {"TableName", "Key"},
	"TransactWriteItemsInput":    {"TransactItems"},
	"BatchExecuteStatementInput": {"Statements"},
}

var (
	pageParameters = []string{
		"TableName", "FilterExpression", "ExpressionAttributeNames", "ExpressionAttributeValues", "Limit", "ExclusiveStartKey", "ConsistentRead",
		"ReturnConsumedCapacity",
	}
	writeParameters = []string{
		"TableName", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues", "ReturnValuesOnConditionCheckFailure",
	}
)

// checkParameters refuses a request with a parameter that is not known: to ignore one would be to
// guess what DynamoDB makes of it.
func checkParameters(request any) error {
	v := reflect.Indirect(reflect.ValueOf(request))
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		if name := v.Type().Field(i).Name; !slices.Contains(known[v.Type().Name()], name) {
			return validation("dynamotest does not know the parameter %s of a %s", name, v.Type().Name())
		}
	}
	return nil
}

// run takes one call through its faults: it is read, may be refused, waits,
// is evaluated in one step under the lock, and its answer may be lost.
func run[O any](ctx context.Context, db *DB, op string, input any, r request, invalid error) (*O, error) {
	call := Call{N: db.count(op), Op: op, Keys: r.keys, Input: input, Context: ctx}
	if err := ctx.Err(); err != nil {
		return nil, canceled(op, err)
	}
	if err := cmp.Or(checkParameters(input), invalid); err != nil {
		return nil, answered(op, err)
	}
	var f Fault
	if db.Fault != nil {
		f = db.Fault(call)
	}
	if err := wait(ctx, f.Delay); err != nil {
		return nil, canceled(op, err)
	}
	out, err := db.evaluate(call, r, f)
	if waitErr := wait(ctx, f.ReplyDelay); waitErr != nil {
		return nil, canceled(op, waitErr)
	}
	if f.Kind == LostReply || f.Kind == ApplyLate {
		return nil, unanswered(op, f.Reply)
	}
	if err != nil {
		return nil, answered(op, err)
	}
	return out.(*O), nil
}

func (db *DB) count(op string) int {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.number++
	db.usage.calls[op]++
	return db.number
}

// evaluate answers the request, refuses it, or keeps it for later.
func (db *DB) evaluate(c Call, r request, f Fault) (any, error) {
	now := db.settled()
	defer db.mu.Unlock()
	if cost, err := f.refusal(c); err != nil {
		db.bill(cost, 0)
		return nil, err
	}
	if f.Kind == ApplyLate {
		db.pending = append(db.pending, pendingRequest{now.Add(cmp.Or(f.After, never)), r})
		return nil, nil
	}
	return r.evaluate(moment{now: now, fault: f})
}

// wait waits for d, or fails with the context's error.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
