package handler

import (
	"os"
	"path/filepath"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestWhatIsNoBatchFailsTheInvocation(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{`, `{} {}`, `{"Records":{}}`, `{"Records":[7]}`, `{"Records":[{"body":7}]}`, `{"Records":[{"messageId":{}}]}`,
		`{"Records":[{"body":"x"}`, `{"Records":[{"body":"x"}]`, `{"Records":[{"body":"x"},]}`, `{"Records":[{"body":"x"}}]`, `{"Records":[{"body"}]}`,
	} {
		if batch, err := decode([]byte(text)); err == nil || batch.Records != nil {
			t.Errorf("%s is read as %+v", text, batch)
		}
	}
}

func FuzzDecode(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("..", "..", "..", "events", "finalize*.json"))
	if err != nil || len(names) == 0 {
		f.Fatalf("%d events, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"Records":[{"messageId":"m","body":"{\"v\":1}"},{}]}`))
	f.Add([]byte(`{"body":"a","Records":[{"attributes":{"body":"b"},"body":"c","Body":"d",` +
		`"messageAttributes":{"messageId":{"body":["e"]}},"messageId":"\u006d\ud800","x":"\"body\":\"f\""},{"body":null}]}`))
	f.Add([]byte(`{"Records":null}`))
	f.Add([]byte(`{"Records":[null,{}]}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"Records":[{"body":7}]}`))
	f.Add([]byte(`{"Records":[{"body":null,"attributes":{"body":"x"}}],"x":[]} `))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decode(text)
		if err != nil && len(got.Records) > 0 {
			t.Errorf("%d messages of a batch that is none", len(got.Records))
		}
		var want struct {
			Records []struct {
				MessageID string `json:"messageId"`
				Body      string `json:"body"`
			}
		}
		if jsonv2.Unmarshal(text, &want, jsontext.AllowInvalidUTF8(true)) != nil {
			return // not a batch, or one with duplicate names
		}
		if len(got.Records) != len(want.Records) {
			t.Fatalf("%d messages (%v), want %d", len(got.Records), err, len(want.Records))
		}
		for i, m := range want.Records {
			if got.Records[i].MessageId != m.MessageID || got.Records[i].Body != m.Body {
				t.Errorf("message %d is %+v, want %+v", i, got.Records[i], m)
			}
		}
	})
}
