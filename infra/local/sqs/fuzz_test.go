package sqs

import (
	"bytes"
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
		f.Add(uint8(i), `{"QueueUrl":"http://x/0/q","QueueName":"q","MessageBody":"b","ReceiptHandle":"AAAA","Entries":[{"Id":"a","MessageBody":"b"}]}`)
		f.Add(uint8(i), `{"QueueUrl":"q","WaitTimeSeconds":20,"Attributes":{"RedrivePolicy":"{}"},"SourceArn":"arn:aws:sqs:us-east-1:000000000000:q"}`)
		f.Add(uint8(i), `{"QueueUrl":7}`)
	}
	f.Fuzz(func(t *testing.T, op uint8, body string) {
		s, err := Open(Options{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.EnsureQueue("q", nil); err != nil {
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

// FuzzReplay opens a journal of any records, and any bytes as a journal: each is
// taken or refused, and what is taken can be written and taken again.
func FuzzReplay(f *testing.F) {
	seed := func(records ...record) {
		var lines []byte
		for _, r := range records {
			line, err := json.Marshal(r)
			if err != nil {
				f.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
		}
		f.Add(lines)
	}
	q := record{Op: opConfigure, Config: &config{Name: "q", Key: "k"}}
	m := record{Op: opSend, Queue: "k", Message: &message{ID: "m", Body: "b", Sent: 1}}
	seed(q, m, record{Op: opReceive, Queue: "k", ID: "m", At: 2, Until: 3}, record{Op: opHide, Queue: "k", ID: "m", Until: 9},
		record{Op: opShow, Queue: "k", ID: "m"}, record{Op: opDelete, Queue: "k", ID: "m"})
	seed(q, record{Op: opConfigure, Config: &config{Name: "d", Key: "l"}}, m, record{Op: opDead, Queue: "k", ID: "m", To: "l"},
		record{Op: opTask, Task: &moveTask{ID: "t", Status: taskCompleted}},
		record{Op: opMove, Queue: "l", ID: "m", To: "k", NewID: "n", TaskID: "t"}, record{Op: opPurge, Queue: "k"}, record{Op: opDrop, Queue: "k"})
	seed(m, record{Op: "?"})
	f.Add([]byte("{}\nnonsense"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		whole := append(frame([]byte(journalHeader+"\n")), frame(lines)...)
		for _, data := range [][]byte{whole, whole[:max(0, len(whole)-3)], lines} {
			s := replayed(data)
			if s == nil {
				continue
			}
			var again bytes.Buffer
			again.Write(frame([]byte(journalHeader + "\n")))
			for _, r := range s.snapshot() {
				line, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				again.Write(frame(append(line, '\n')))
			}
			if replayed(again.Bytes()) == nil {
				t.Errorf("the state after %q cannot be replayed", data)
			}
		}
	})
}

// replayed is a server with the state of a journal, nil if it is refused.
func replayed(data []byte) *Server {
	s := &Server{named: map[string]*queue{}, keyed: map[string]*queue{}, tasks: map[string]*moveTask{}}
	if replayFrames(data, s.replay) != nil {
		return nil
	}
	return s
}

func FuzzHandle(f *testing.F) {
	f.Add(handle{queue: "k", message: "m", generation: 7}.String())
	f.Add("garbage")
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := parseHandle(text, "k"); err == nil && h.queue != "k" {
			t.Errorf("parsed %q as %+v", text, h)
		}
	})
}
