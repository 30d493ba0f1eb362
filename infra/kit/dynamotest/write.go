package dynamotest

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// action is what a write does to its item.
type action int

const (
	actionPut action = iota
	actionUpdate
	actionDelete
	actionCheck
)

// writeInput is what PutItem, UpdateItem, DeleteItem and the four actions of a
// transaction have in common.
type writeInput struct {
	action    action
	table     *string
	key       map[string]types.AttributeValue // the whole item of a put
	update    *string
	condition *string
	names     map[string]string
	values    map[string]types.AttributeValue
	onFailure types.ReturnValuesOnConditionCheckFailure
}

// write is one write, read and checked.
type write struct {
	action    action
	table     *table
	key       key
	item      version // of a put
	update    []assignment
	condition *condition
	scope     scope
	oldItem   bool // wanted with a failed condition
}

// tableNamed is the table, if it has that name.
func (db *DB) tableNamed(name *string) (*table, error) {
	if aws.ToString(name) == db.table.Name {
		return db.table, nil
	}
	return nil, &types.ResourceNotFoundException{Message: aws.String("Requested resource not found")}
}

func (db *DB) newWrite(in writeInput) (*write, error) {
	t, err := db.tableNamed(in.table)
	if err != nil {
		return nil, err
	}
	w := &write{action: in.action, table: t, oldItem: in.onFailure == types.ReturnValuesOnConditionCheckFailureAllOld}
	if in.action == actionPut {
		w.key, err = t.keyIn(in.key)
	} else {
		w.key, err = t.keyOf(in.key)
	}
	if err != nil {
		return nil, err
	}
	if in.action == actionPut {
		it, err := admitItem(in.key)
		if err != nil {
			return nil, err
		}
		if w.item = versionOf(it); w.item.size > maxItemSize {
			return nil, validation("Item size has exceeded the maximum allowed size")
		}
	}
	update, err := parse(updateExpression, in.update)
	if err != nil {
		return nil, err
	}
	condition, err := parse(conditionExpression, in.condition)
	if err != nil {
		return nil, err
	}
	w.update, w.condition = update.update, condition.condition
	if w.scope, err = bind(in.names, in.values, update, condition); err != nil {
		return nil, err
	}
	return w, w.checkUpdate()
}

// checkUpdate refuses an update of the key, and one that names an attribute twice.
func (w *write) checkUpdate() error {
	seen := make([]string, 0, len(w.update))
	for _, a := range w.update {
		name := w.scope.name(a.name)
		switch {
		case w.table.isKey(name):
			return validation("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", name)
		case slices.Contains(seen, name):
			return validation("Invalid UpdateExpression: Two document paths overlap with each other; must remove or rewrite one of these paths; path: %s", name)
		}
		seen = append(seen, name)
	}
	return nil
}

// result is the item after the write. It fails with a
// ConditionalCheckFailedException or a ValidationException and stores nothing.
func (w *write) result(old version) (version, error) {
	if !w.scope.holds(w.condition, old.item) {
		if w.oldItem {
			return version{}, conditionFailed(old.item)
		}
		return version{}, conditionFailed(nil)
	}
	switch w.action {
	case actionPut:
		return w.item, nil
	case actionDelete:
		return version{}, nil
	case actionCheck:
		return old, nil
	}
	if old.item == nil {
		old.item = w.table.keyItem(w.key)
	}
	it, err := w.scope.applied(w.update, old.item)
	after := versionOf(it)
	if after.size > maxItemSize {
		return version{}, validation("Item size to update has exceeded the maximum allowed size")
	}
	return after, err
}

// attempt is what a write makes of its item, or why it is refused: it conflicts if the item
// is busy. It is billed so many times as a plain write, and stores nothing. db.mu is held.
func (db *DB) attempt(w *write, busy bool, times float64) (it version, units float64, err error) {
	old := w.table.current(w.key)
	if busy {
		err = conflict()
	} else {
		it, err = w.result(old)
	}
	units = times * writeUnits(old, it)
	db.bill(units, 0)
	return it, units, err
}

// store makes the result of the write the current item. db.mu is held.
func (db *DB) store(w *write, it version, now time.Time) {
	if w.action != actionCheck {
		db.record(w, it.item, now)
		w.table.put(w.key, it, now, db.Lag)
	}
}

// busy reports whether a transaction has the item in flight. db.mu is held.
func (db *DB) busy(at key, now time.Time) bool {
	until, ok := db.inFlight[at]
	if ok && !now.Before(until) {
		delete(db.inFlight, at)
		return false
	}
	return ok
}
