package handler

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/change"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// event is the shared harness's function.
var event = httpapitest.Event

// function is the handler as Lambda calls it, over a ledger.
type function struct {
	*testledger.World
	httpapitest.Function
	handler *Handler
}

// in runs a test of a function over an empty table, on the second of January.
func in(t *testing.T, test func(t *testing.T, f *function)) {
	t.Helper()
	testledger.Run(t, func(w *testledger.World) {
		time.Sleep(24 * time.Hour)
		f := &function{World: w, Function: httpapitest.Function{Service: "seed", Counts: "seedings"}}
		f.over(w.Ledger())
		test(w.T, f)
	})
}

// over makes the handler use that ledger.
func (f *function) over(l change.Ledger) {
	f.handler = New(l, telemetry.New(&f.Log, "seed", clock.Wall), clock.Wall)
	f.handler.Desk.ImageOrigin = "https://images.example"
	f.Handler = lambda.NewHandler(f.handler.Handle)
}

// sale returns the sale as it is stored.
func (f *function) sale() sale.Sale {
	f.T.Helper()
	s, err := f.Ledger().Sale(f.T.Context(), testledger.SaleID)
	if err != nil {
		f.T.Fatal(err)
	}
	return s
}

// invoke runs one event and returns its answer or its function error.
func (f *function) invoke(t *testing.T, ctx context.Context, event []byte) (string, *messages.InvokeResponse_Error) {
	t.Helper()
	raw, err := f.Invoke(t, ctx, event)
	if err == nil {
		return string(raw), nil
	}
	// Lambda reads type and message from an error of exactly this type.
	failure, ok := err.(messages.InvokeResponse_Error)
	if !ok {
		t.Fatalf("the function failed with %T: %v", err, err)
	}
	return "", &failure
}

// succeed runs one event that must succeed.
func (f *function) succeed(t *testing.T, event []byte, want string) {
	t.Helper()
	got, failure := f.invoke(t, t.Context(), event)
	if bytes.Contains(event, []byte(`"create"`)) {
		version := sale.ReadVersion{}.Text(f.sale().ID)
		want = strings.TrimSuffix(want, "}") + `,"version":"` + version + `"}`
	}
	if failure != nil || got != want {
		t.Errorf("%s: answer %s, error %+v; want %s", event, got, failure, want)
	}
}

// refuse runs one event that must fail with that code, without showing internal errors.
func (f *function) refuse(t *testing.T, event []byte, want sale.Code) {
	t.Helper()
	_, failure := f.invoke(t, t.Context(), event)
	if failure == nil {
		t.Errorf("%s: no error, want %s", event, want)
		return
	}
	if failure.Type != string(want) || !strings.HasPrefix(failure.Message, string(want)) || len(failure.StackTrace) != 0 || failure.ShouldExit {
		t.Errorf("%s: error %+v, want %s", event, failure, want)
	}
	for _, word := range []string{"goroutine", "panic", "Exception", "ledger-", "on fire"} {
		if strings.Contains(failure.Message, word) {
			t.Errorf("the error tells %q: %s", word, failure.Message)
		}
	}
	if outcome := f.Logged(t, "outcome"); outcome != string(want) {
		t.Errorf("outcome %v, want %s", outcome, want)
	}
}
