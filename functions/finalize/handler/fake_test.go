package handler

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

var (
	alice = ledger.ClaimRef{SaleID: "moutai", User: "alice", ClaimID: "5LJQBKBVNQ2XRCM7KD3V4HTYWA"}
	bob   = ledger.ClaimRef{SaleID: "moutai", User: "bob", ClaimID: "QZ6WPOE3T2NFGA7JXUHV5RMDCI"}
	// nobody is a claim that was never made.
	nobody = ledger.ClaimRef{SaleID: "moutai", User: "nobody", ClaimID: "CLAIM0"}
)

// claims is an in-memory ledger that keeps the promises: one order id per claim; poison
// for a claim that does not exist.
type claims struct {
	orders   map[ledger.ClaimRef]uint64 // 0 while pending
	next     uint64
	calls    [][]ledger.ClaimRef
	faults   map[ledger.ClaimRef]error
	panics   bool
	deadline time.Time // of the last context
}

func (c *claims) Confirm(ctx context.Context, refs []ledger.ClaimRef) []ledger.Confirmation {
	c.calls = append(c.calls, refs)
	c.deadline, _ = ctx.Deadline()
	if c.panics {
		panic("the ledger is on fire")
	}
	out := make([]ledger.Confirmation, len(refs))
	for i, ref := range refs {
		ref.Buckets = 0 // the same claim with and without Buckets
		id, exists := c.orders[ref]
		switch {
		case c.faults[ref] != nil:
			out[i].Err = c.faults[ref]
			continue
		case !exists:
			out[i].Err = sale.Fail(sale.Poison, errors.New("no such claim"))
			continue
		case id == 0:
			c.next++
			id, out[i].New = c.next, true
			c.orders[ref] = id
		}
		out[i].AcceptedAt = time.Now().Add(-time.Second)
		out[i].Order = sale.Order{ID: id, SaleID: ref.SaleID, User: ref.User, ClaimID: ref.ClaimID}
	}
	return out
}

// confirmed counts the claims that have an order id.
func (c *claims) confirmed() int {
	n := 0
	for _, id := range c.orders {
		if id != 0 {
			n++
		}
	}
	return n
}

// event is the shared harness's function.
var event = httpapitest.Event

// function is the handler as Lambda calls it, with its dependencies.
type function struct {
	claims
	httpapitest.Function
}

func newFunction(t *testing.T) *function {
	t.Helper()
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "")
	f := &function{claims: claims{
		orders: map[ledger.ClaimRef]uint64{alice: 0, bob: 0},
		faults: map[ledger.ClaimRef]error{},
	}}
	h := New(&f.claims, telemetry.New(&f.Log, "finalize", clock.Wall), clock.Wall)
	f.Handler = lambda.NewHandler(h)
	return f
}

// invoke runs one event and returns the ids of the messages that it reports as failed.
func (f *function) invoke(t *testing.T, ctx context.Context, event []byte) ([]string, error) {
	t.Helper()
	raw, failure := f.Invoke(t, ctx, event)
	if failure != nil {
		return nil, failure
	}
	var answer map[string][]map[string]string
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	items, ok := answer["batchItemFailures"]
	if !ok || items == nil || len(answer) != 1 {
		t.Fatalf("answer %s, want batchItemFailures and nothing else", raw)
	}
	failed := []string{}
	for _, item := range items {
		failed = append(failed, item["itemIdentifier"])
	}
	return failed, nil
}

// batch returns an event of messages m0, m1 … with those bodies.
func batch(t *testing.T, bodies ...string) []byte {
	t.Helper()
	var e events.SQSEvent
	for i, body := range bodies {
		e.Records = append(e.Records, events.SQSMessage{MessageId: "m" + string(rune('0'+i)), Body: body, EventSource: "aws:sqs"})
	}
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// order returns the body of a claim's message.
func order(ref ledger.ClaimRef) string {
	return orderq.Encode(orderq.Message{SaleID: ref.SaleID, User: ref.User, ClaimID: ref.ClaimID})
}
