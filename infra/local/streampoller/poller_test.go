package streampoller

import (
	"encoding/json"
	"log/slog"
	"testing"
)

func TestTheEventIsLambdas(t *testing.T) {
	p, err := New(Config{
		StreamARN: "arn:stream", SourceARN: "arn:source", Checkpoint: t.TempDir() + "/streams/F.json", Log: slog.New(slog.DiscardHandler),
		Filters: []string{`{"dynamodb":{"NewImage":{"n":{"N":[{"exists":true}]}},"OldImage":{"n":{"N":[{"exists":false}]}}}}`},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const head, tail = `{"awsRegion":"`, `,"Keys":{"pk":{"S":"data"}},"NewImage":{"b":{"B":"AAEqQQ=="},"n":{"N":"1"},"ss":{"SS":["x","y"]}},"OldImage":{},` +
		`"SequenceNumber":"1405400000000002063282832","SizeBytes":54,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventID":"f07f","eventName":"MODIFY",` +
		`"eventSource":"aws:dynamodb",`
	var streamed map[string]any
	if err := json.Unmarshal([]byte(head+`dynoxide","dynamodb":{"ApproximateCreationDateTime":1480642020.7`+tail+`"eventVersion":"1.1"}`), &streamed); err != nil {
		t.Fatal(err)
	}
	r, err := p.record(streamed)
	want := head + `us-east-1","dynamodb":{"ApproximateCreationDateTime":1480642020` + tail + `"eventSourceARN":"arn:source","eventVersion":"1.1"}`
	if err != nil || string(r.json) != want {
		t.Errorf("%v, got  %s\nwant %s", err, r.json, want)
	}
}
