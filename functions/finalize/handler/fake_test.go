package handler

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/telemetry"
)

var (
	alice = ledger.ClaimRef{SaleID: "moutai", User: testledger.Alice, ClaimID: testledger.AlicesClaim}
	bob   = ledger.ClaimRef{SaleID: "moutai", User: testledger.Bob, ClaimID: testledger.BobsClaim}
	// nobody is a claim that was never made.
	nobody = ledger.ClaimRef{SaleID: "moutai", User: "nobody", ClaimID: "CLAIM0"}
)

// function is the handler as Lambda calls it, over a ledger that has the claims of alice and
// bob.
type function struct {
	*testledger.World
	httpapitest.Function
}

func in(t *testing.T, test func(t *testing.T, f *function)) {
	t.Helper()
	testledger.Run(t, func(w *testledger.World) {
		f := &function{World: w, Function: httpapitest.Function{Service: "finalize", Counts: "batches"}}
		w.Open()
		w.Buy(alice.User, alice.ClaimID, "")
		w.Buy(bob.User, bob.ClaimID, "")
		time.Sleep(time.Second)
		f.over(w.Ledger())
		test(w.T, f)
	})
}

// over makes the handler use that ledger.
func (f *function) over(l Ledger) {
	f.Handler = lambda.NewHandler(New(l, telemetry.New(&f.Log, "finalize", clock.Wall), clock.Wall))
}

// orders are the order ids by user, of those who have one.
func (f *function) orders() map[string]uint64 {
	all := map[string]uint64{}
	for _, user := range []string{alice.User, bob.User, nobody.User} {
		if id := f.Claim(user).OrderID; id != 0 {
			all[user] = id
		}
	}
	return all
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
