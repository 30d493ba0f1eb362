package sqs

import (
	"context"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzRequest sends any body to any operation: the answer is always JSON, never
// a 500, and the server can still be asked afterwards.
func FuzzRequest(f *testing.F) {
	names := slices.Sorted(maps.Keys(operations))
	for i := range names {
		f.Add(uint8(i), `{"QueueUrl":"http://x/0/q","QueueName":"q","MessageBody":"b","ReceiptHandle":"AAAA","Entries":[{"Id":"a","ReceiptHandle":"AAAA"}]}`)
		f.Add(uint8(i), `{"QueueUrl":"q","WaitTimeSeconds":20,"Attributes":{"RedrivePolicy":"{}"}}`)
		f.Add(uint8(i), `{"QueueUrl":7}`)
	}
	f.Fuzz(func(t *testing.T, op uint8, body string) {
		now := time.Unix(1_800_000_000, 0)
		s := New(Options{Now: func() time.Time { return now }})
		defer s.Close()
		if err := s.create("q", nil, now); err != nil {
			t.Fatal(err)
		}
		// Long polls end with their caller.
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, "POST", "/", strings.NewReader(body))
		r.Header.Set("X-Amz-Target", targetPrefix+names[int(op)%len(names)])
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("no JSON: %s", w.Body)
		}
	})
}
