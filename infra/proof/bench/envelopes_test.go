package bench

import (
	"bytes"
	"cmp"
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
	var b bytes.Buffer
	if err := cmp.Or(err, json.Compact(&b, text)); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// crowd returns one of the repository's events, of a different user every time, among more users than an environment
// remembers. The user is overwritten in place, so making the event costs nothing.
func crowd(tb testing.TB, name string) func() []byte {
	const users = 20_000
	event := bytes.ReplaceAll(envelope(tb, name), []byte(`"sub":"alice"`), []byte(`"sub":"user-00000"`))
	_, behind, _ := bytes.Cut(event, []byte(`"sub":"user-`))
	n := 0
	return func() []byte {
		n = (n + 1) % users
		_ = fmt.Appendf(behind[:0], "%05d", n)
		return event
	}
}

// userOf is the user of a message.
func userOf(message int) string { return fmt.Sprintf("user-%05d", message) }

// batchOf is a queue event with messages of so many users, otherwise like the repository's
// batch event.
func batchOf(tb testing.TB, messages int) []byte {
	tb.Helper()
	var batch events.SQSEvent
	if err := json.Unmarshal(envelope(tb, "finalize-batch.json"), &batch); err != nil {
		tb.Fatal(err)
	}
	like := batch.Records[0]
	batch.Records = nil
	for i := range messages {
		like.MessageId = fmt.Sprintf("380f4dc3-3844-4c8a-8806-2b1fbd87%04d", i)
		like.Body = orderq.Encode(orderq.Message{SaleID: saleID, User: userOf(i), ClaimID: claimID, Buckets: buckets})
		batch.Records = append(batch.Records, like)
	}
	text, err := json.Marshal(batch)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}
