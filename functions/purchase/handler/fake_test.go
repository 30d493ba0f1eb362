package handler

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/telemetry"
)

// mailbox is a queue that may fail.
type mailbox struct {
	sent     []orderq.Message
	fault    error
	deadline time.Time // of the last context
	over     error     // of the last context
}

func (m *mailbox) Send(ctx context.Context, message orderq.Message) error {
	m.deadline, _ = ctx.Deadline()
	m.over = ctx.Err()
	if m.fault != nil {
		return m.fault
	}
	m.sent = append(m.sent, message)
	return nil
}

// The shared harness's functions.
var (
	event   = httpapitest.Event
	user    = httpapitest.User
	header  = httpapitest.Header
	refused = httpapitest.Refused
)

// function is the handler as Lambda calls it, over a ledger whose claims are called CLAIM1,
// CLAIM2 and so on.
type function struct {
	*testledger.World
	queue   mailbox
	handler *Handler
	httpapitest.Function
}

// in runs a test five seconds after a sale of 2 units opened.
func in(t *testing.T, test func(t *testing.T, f *function)) {
	t.Helper()
	testledger.Run(t, func(w *testledger.World) {
		w.Open()
		time.Sleep(5 * time.Second)
		f := &function{World: w}
		ids := 0
		f.over(w.LedgerWith(ledger.Options{NewID: func() string { ids++; return fmt.Sprint("CLAIM", ids) }}))
		test(w.T, f)
	})
}

// over makes the handler use that ledger.
func (f *function) over(l Ledger) {
	f.Service, f.Counts = "purchase", "purchases"
	f.handler = New(l, &f.queue, telemetry.New(&f.Log, "purchase", clock.Wall), clock.Wall)
	f.Handler = lambda.NewHandler(httpapi.Serve(f.handler.Handle))
}

// claims counts the claims in the table.
func (f *function) claims() int {
	return strings.Count(f.DB.Dump(), `"CLAIM#`)
}

// invoke runs one event, whose answer must be JSON and must not be cacheable.
func (f *function) invoke(t *testing.T, ctx context.Context, event []byte) httpapi.Response {
	t.Helper()
	response := f.Ask(t, ctx, event)
	if got := response.Headers.CacheControl; got != "no-store" {
		t.Errorf("Cache-Control %q, want no-store", got)
	}
	if !json.Valid([]byte(response.Body)) {
		t.Errorf("the body is not JSON: %s", response.Body)
	}
	return response
}
