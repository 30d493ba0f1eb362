package dynamotest

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/jsonwrite"
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
	digits := strconv.FormatInt(r.Sequence, 10)
	return "100000000000000000000"[:21-len(digits)] + digits
}

// record tells Stream of a write that is about to be stored. db.mu is held.
func (db *DB) record(w *write, it item, now time.Time) {
	if db.Stream == nil {
		return
	}
	old := w.table.current(w.key)
	if old == nil && it == nil || !db.StreamUnchanged && maps.EqualFunc(old, it, equal) {
		return
	}
	db.records++
	db.Stream(Record{Table: w.table.Name, Sequence: db.records, At: now, Keys: w.table.keyItem(w.key), Old: old, New: it})
}

// JSON is the record as Lambda delivers it to a function. Equal records have equal
// texts.
func (r Record) JSON() []byte {
	var change jsonwrite.Object
	change.Name("ApproximateCreationDateTime")
	change = strconv.AppendInt(change, r.At.Unix(), 10) // in whole seconds
	size := item(r.Keys).size()
	change.Name("Keys")
	change = appendItem(change, r.Keys)
	for _, image := range []struct {
		name string
		item map[string]types.AttributeValue
	}{{"NewImage", r.New}, {"OldImage", r.Old}} {
		if image.item != nil {
			change.Name(image.name)
			change = appendItem(change, image.item)
			size += item(image.item).size()
		}
	}
	change.Text("SequenceNumber", r.SequenceNumber())
	change.Int("SizeBytes", int64(size))
	change.Text("StreamViewType", "NEW_AND_OLD_IMAGES")
	var o jsonwrite.Object
	o.Text("eventID", strconv.FormatInt(r.Sequence, 10))
	o.Text("eventName", r.EventName())
	o.Text("eventVersion", "1.1")
	o.Text("eventSource", "aws:dynamodb")
	o.Text("awsRegion", "eu-central-1")
	o.Name("dynamodb")
	o = append(o, change.Close()...)
	o.Text("eventSourceARN", "arn:aws:dynamodb:eu-central-1:123456789012:table/"+r.Table+"/stream/2026-01-01T00:00:00.000")
	return o.Close()
}

// JSON is an item in DynamoDB's JSON.
func JSON(it map[string]types.AttributeValue) json.RawMessage { return appendItem(nil, it) }

// appendItem appends an item in DynamoDB's JSON.
func appendItem(b []byte, it map[string]types.AttributeValue) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(it)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonwrite.Quote(b, name), ':')
		b = appendValue(b, it[name])
	}
	return append(b, '}')
}

// appendValue appends a value with its type, as in {"S":"text"}.
func appendValue(b []byte, v types.AttributeValue) []byte {
	b = append(append(append(b, `{"`...), typeOf(v)...), `":`...)
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		b = jsonwrite.Quote(b, v.Value)
	case *types.AttributeValueMemberN:
		b = jsonwrite.Quote(b, v.Value)
	case *types.AttributeValueMemberB:
		b = append(base64.StdEncoding.AppendEncode(append(b, '"'), v.Value), '"')
	case *types.AttributeValueMemberBOOL:
		b = strconv.AppendBool(b, v.Value)
	case *types.AttributeValueMemberSS:
		b = appendList(b, v.Value, jsonwrite.Quote)
	case *types.AttributeValueMemberNS:
		b = appendList(b, v.Value, jsonwrite.Quote)
	}
	return append(b, '}')
}

func appendList[V any](b []byte, all []V, appendOne func([]byte, V) []byte) []byte {
	b = append(b, '[')
	for i, one := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendOne(b, one)
	}
	return append(b, ']')
}
