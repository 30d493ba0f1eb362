package handler

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/ledger"
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

// groups sets the claim of the caller's roles.
func groups(claim string) httpapitest.Change {
	return func(r *events.APIGatewayV2HTTPRequest) {
		r.RequestContext.Authorizer.JWT.Claims["cognito:groups"] = claim
	}
}

// body replaces the body of a request.
func body(text string) httpapitest.Change {
	return func(r *events.APIGatewayV2HTTPRequest) { r.Body = text }
}

// inQuery sets a parameter of the address.
func inQuery(name, value string) httpapitest.Change {
	return func(r *events.APIGatewayV2HTTPRequest) { r.QueryStringParameters = map[string]string{name: value} }
}

// function is the handler as Lambda calls it, over a ledger.
type function struct {
	*testledger.World
	httpapitest.Function
	stack *fakeStack
}

// in runs a test of a function over an empty table.
func in(t *testing.T, test func(t *testing.T, f *function)) {
	t.Helper()
	testledger.Run(t, func(w *testledger.World) {
		f := &function{World: w, stack: &fakeStack{}}
		f.over(w.Ledger())
		test(w.T, f)
	})
}

// selling runs a test during a sale of 100 units of which alice's claim is confirmed, and bob's
// is pending.
func selling(t *testing.T, test func(t *testing.T, f *function), changes ...func(*sale.Creation)) {
	t.Helper()
	in(t, func(t *testing.T, f *function) {
		f.Sells(changes...)
		f.Buy(testledger.Bob, testledger.BobsClaim, "k")
		f.Confirms()
		time.Sleep(2 * time.Second)
		test(t, f)
	})
}

// over makes the handler use that ledger.
func (f *function) over(l Ledger) {
	h := New(l, telemetry.New(&f.Log, "operate", clock.Wall), clock.Wall)
	h.Desk.ImageOrigin, h.RolesClaim = "https://images.example", "cognito:groups"
	h.Stack, h.Sends = f.stack, true
	f.Handler = h
}

// answered runs a request that must succeed, and decodes its body.
func (f *function) answered(t *testing.T, request []byte) (body map[string]any) {
	t.Helper()
	r := f.Ask(t, t.Context(), request)
	if r.StatusCode != 200 || r.Headers.ContentType != "application/json" || r.Headers.CacheControl != "no-store" {
		t.Fatalf("%s: %d %v %s", request, r.StatusCode, r.Headers, r.Body)
	}
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// shows runs a request whose answer must have all of want, which is JSON: null is what is not there. That it has
// nothing that is not documented is seen by the contract's scenes.
func (f *function) shows(t *testing.T, request []byte, want string) (body map[string]any) {
	t.Helper()
	var wanted any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err, want)
	}
	if body = f.answered(t, request); !has(body, wanted) {
		text, _ := json.Marshal(body)
		t.Errorf("answered %s, want %s", text, want)
	}
	return body
}

func has(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		all, ok := got.(map[string]any)
		for name, one := range want {
			ok = ok && has(all[name], one)
		}
		return ok
	case []any:
		all, ok := got.([]any)
		ok = ok && len(all) == len(want)
		for i := range want {
			ok = ok && has(all[i], want[i])
		}
		return ok
	}
	return got == want
}

// counted stores the books of a sale as a pass has counted them, changed.
func (f *function) counted(t *testing.T, change func(*ledger.Receipt)) {
	t.Helper()
	r := f.Receipt()
	change(r)
	if err := f.Ledger().SaveCursor(t.Context(), &ledger.Audit{SaleID: testledger.SaleID}, r); err != nil {
		t.Fatal(err)
	}
}

// trail returns the trail's entries, the newest first.
func (f *function) trail(t *testing.T) (changes []sale.Change) {
	t.Helper()
	changes, _, err := f.Ledger().Trail(t.Context(), testledger.SaleID, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}
