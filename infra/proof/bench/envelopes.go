package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/orderq"
)

// envelope reads one of the repository's events, compacted as the gateway sends it.
func envelope(root, name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, "events", name))
	if err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return nil, fmt.Errorf("read event %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// crowd is a request with a different user every time, among more users than an
// environment caches, so that no request is answered from memory. The user is
// overwritten in place, so making the event costs nothing.
type crowd struct {
	event []byte
	user  []byte // the digits of the user within event
	n     int
}

const crowdSize = 20_000

func newCrowd(event []byte) (*crowd, error) {
	event = bytes.ReplaceAll(event, []byte(`"sub":"alice"`), []byte(`"sub":"user-00000"`))
	at := bytes.Index(event, []byte("user-00000"))
	if at < 0 {
		return nil, fmt.Errorf("read event: no sub")
	}
	return &crowd{event: event, user: event[at+len("user-") : at+len("user-00000")]}, nil
}

func (c *crowd) next() []byte {
	c.n = (c.n + 1) % crowdSize
	for i, n := len(c.user)-1, c.n; i >= 0; i, n = i-1, n/10 {
		c.user[i] = byte('0' + n%10)
	}
	return c.event
}

// batchOf is a queue event with one message per user, otherwise like the repository's
// batch event.
func batchOf(root string, users []string) ([]byte, error) {
	text, err := envelope(root, "finalize-batch.json")
	if err != nil {
		return nil, err
	}
	var batch events.SQSEvent
	if err := json.Unmarshal(text, &batch); err != nil {
		return nil, fmt.Errorf("read batch: %w", err)
	}
	like := batch.Records[0]
	batch.Records = nil
	for i, user := range users {
		like.MessageId = fmt.Sprintf("380f4dc3-3844-4c8a-8806-2b1fbd87%04d", i)
		like.Body = orderq.Encode(orderq.Message{SaleID: saleID, User: user, ClaimID: claimID, Buckets: buckets})
		batch.Records = append(batch.Records, like)
	}
	return json.Marshal(batch)
}
