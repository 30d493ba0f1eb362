package handler

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

func TestABatchIsReadAsTheStandardLibraryReadsIt(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("..", "..", "..", "events", "finalize*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d events, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var whole, want events.SQSEvent
		if err := json.Unmarshal(text, &whole); err != nil {
			t.Fatal(err)
		}
		for _, m := range whole.Records {
			want.Records = append(want.Records, events.SQSMessage{MessageId: m.MessageId, Body: m.Body})
		}
		got, err := decode(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Records":[{"messageId":"m","body":"{\"v\":1}"},{}]}`))
	f.Add([]byte(`{"Records":null}`))
	f.Add([]byte(`{"Records":[{"body":7}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		batch, err := decode(text)
		if err != nil && len(batch.Records) > 0 {
			t.Errorf("%d messages of a batch that is none", len(batch.Records))
		}
	})
}
