package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/orderq"
)

const root = "../../.."

// envelope reads one of the repository's events, compacted as the gateway sends it.
func envelope(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, "events", name))
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
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

func newCrowd(tb testing.TB, name string) *crowd {
	tb.Helper()
	event := bytes.ReplaceAll(envelope(tb, name), []byte(`"sub":"alice"`), []byte(`"sub":"user-00000"`))
	at := bytes.Index(event, []byte("user-00000"))
	if at < 0 {
		tb.Fatalf("%s has no sub", name)
	}
	return &crowd{event: event, user: event[at+len("user-") : at+len("user-00000")]}
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
func batchOf(tb testing.TB, users []string) []byte {
	tb.Helper()
	var batch events.SQSEvent
	if err := json.Unmarshal(envelope(tb, "finalize-batch.json"), &batch); err != nil {
		tb.Fatal(err)
	}
	like := batch.Records[0]
	batch.Records = nil
	for i, user := range users {
		like.MessageId = fmt.Sprintf("380f4dc3-3844-4c8a-8806-2b1fbd87%04d", i)
		like.Body = orderq.Encode(orderq.Message{SaleID: saleID, User: user, ClaimID: claimID, Buckets: buckets})
		batch.Records = append(batch.Records, like)
	}
	text, err := json.Marshal(batch)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}
