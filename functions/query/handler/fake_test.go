package handler

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// The shared harness's functions.
var (
	event   = httpapitest.Event
	user    = httpapitest.User
	path    = httpapitest.Path
	refused = httpapitest.Refused
)

// function is the handler as Lambda calls it, over a ledger.
type function struct {
	*testledger.World
	handler *Handler
	httpapitest.Function
}

// in runs a test of a function over a table without sales.
func in(t *testing.T, test func(t *testing.T, f *function)) {
	t.Helper()
	testledger.Run(t, func(w *testledger.World) {
		f := &function{World: w, Function: httpapitest.Function{Service: "query", Counts: "queries"}}
		f.over(w.Ledger())
		test(w.T, f)
	})
}

// selling runs a test during a sale of 100 units of which alice's claim is confirmed.
func selling(t *testing.T, test func(t *testing.T, f *function), changes ...func(*sale.Creation)) {
	t.Helper()
	in(t, func(t *testing.T, f *function) {
		f.Sells(changes...)
		f.Confirms()
		test(t, f)
	})
}

// over makes the handler use that ledger.
func (f *function) over(l Ledger) {
	f.handler = New(l, telemetry.New(&f.Log, "query", clock.Wall), clock.Wall)
	f.Handler = lambda.NewHandler(httpapi.Serve(f.handler.Handle))
}

// paidWithin makes a sale ask for payment of 1499 CNY within that time.
func paidWithin(d time.Duration) func(*sale.Creation) {
	return func(c *sale.Creation) {
		if c.PayWithin = d; d > 0 {
			c.Price, c.Currency = 149900, "CNY"
		}
	}
}

// inGroup puts a sale into the group of the events.
func inGroup(c *sale.Creation) { c.LimitGroup = "spirits" }

// answered checks an answer and returns its body.
func answered(t *testing.T, r httpapi.Response, cacheControl string) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != 200 || r.Headers.ContentType != "application/json" || r.Headers.CacheControl != cacheControl {
		t.Errorf("%d %v %s, want 200, JSON, %s", r.StatusCode, r.Headers, r.Body, cacheControl)
	}
	if cacheControl != "no-store" && r.Headers.Vary != "Origin" {
		t.Errorf("Vary is %q: pages of other origins get what a browser has kept for the API's own", r.Headers.Vary)
	}
	return body
}
