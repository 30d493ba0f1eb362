package dynamotest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Record is one record of a table's stream with the view type NEW_AND_OLD_IMAGES.
type Record struct {
	Table string
	// Sequence numbers the records of all tables from 1.
	Sequence int64
	// At is when the write was applied.
	At time.Time
	// Keys are the item's key attributes. Old and New are the item before and after the
	// write, nil for no item: not copies, so they must not be changed.
	Keys, Old, New map[string]types.AttributeValue
}

// EventName is INSERT, MODIFY or REMOVE.
func (r Record) EventName() string {
	switch {
	case r.Old == nil:
		return "INSERT"
	case r.New == nil:
		return "REMOVE"
	}
	return "MODIFY"
}

// SequenceNumber is the sequence as the stream spells it: at least 21 digits.
func (r Record) SequenceNumber() string {
	return fmt.Sprintf("1%020d", r.Sequence)
}

// record tells Stream of a write that is about to be stored. db.mu is held.
func (db *DB) record(w *write, it item, now time.Time) {
	if db.Stream == nil {
		return
	}
	old := w.table.current(w.key).item
	if old == nil && it == nil || !db.StreamUnchanged && maps.EqualFunc(old, it, equal) {
		return
	}
	db.records++
	db.Stream(Record{Table: w.table.Name, Sequence: db.records, At: now, Keys: w.table.keyItem(w.key), Old: old, New: it})
}

// JSON is the record as Lambda delivers it to a function. Equal records have equal
// texts.
func (r Record) JSON() []byte {
	change := map[string]any{
		"ApproximateCreationDateTime": r.At.Unix(), // in whole seconds
		"Keys":                        plain(r.Keys), "SequenceNumber": r.SequenceNumber(), "StreamViewType": "NEW_AND_OLD_IMAGES",
	}
	if r.Old != nil {
		change["OldImage"] = plain(r.Old)
	}
	if r.New != nil {
		change["NewImage"] = plain(r.New)
	}
	return encoded(map[string]any{
		"eventID": strconv.FormatInt(r.Sequence, 10), "eventName": r.EventName(), "eventVersion": "1.1", "eventSource": "aws:dynamodb",
		"awsRegion": "eu-central-1", "dynamodb": change,
		"eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/" + r.Table + "/stream/2026-01-01T00:00:00.000",
	})
}

// JSON is an item in DynamoDB's JSON.
func JSON(it map[string]types.AttributeValue) json.RawMessage { return encoded(plain(it)) }

func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made of texts and numbers
	}
	return text
}

// plainValue is a value with its type, as in {"S":"text"}.
type plainValue struct {
	S, N   *string  `json:",omitempty"`
	B      *[]byte  `json:",omitempty"`
	BOOL   *bool    `json:",omitempty"`
	SS, NS []string `json:",omitempty"`
}

func plain(it map[string]types.AttributeValue) map[string]plainValue {
	out := make(map[string]plainValue, len(it))
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			out[name] = plainValue{S: &v.Value}
		case *types.AttributeValueMemberN:
			out[name] = plainValue{N: &v.Value}
		case *types.AttributeValueMemberB:
			out[name] = plainValue{B: &v.Value}
		case *types.AttributeValueMemberBOOL:
			out[name] = plainValue{BOOL: &v.Value}
		case *types.AttributeValueMemberSS:
			out[name] = plainValue{SS: v.Value}
		case *types.AttributeValueMemberNS:
			out[name] = plainValue{NS: v.Value}
		}
	}
	return out
}
