package handler

import (
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/httpapi"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

var event = httpapitest.Event

func TestABuyerCancels(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		for _, again := range []bool{false, true} {
			r := f.Ask(t, t.Context(), event(t, "pay-cancel.json", telemetrytest.Confide))
			want := `{"claimId":"5LJQBKBVNQ2XRCM7KD3V4HTYWA","saleId":"moutai","state":"CANCELLED","acceptedAt":"2026-01-01T00:00:05.000Z","orderId":"406709376884146177"}`
			if r.StatusCode != 200 || r.Body != want || r.Headers.CacheControl != "no-store" {
				t.Errorf("%d %s, want %s", r.StatusCode, r.Body, want)
			}
			f.Counts = "cancellations"
			f.IsLine(t, "", map[string]any{"coldStart": !again, "route": cancelRoute, "user": "alice", "saleId": "moutai"}, nil)
		}
		if c := f.Claim("alice"); c.State() != sale.Cancelled {
			t.Errorf("the claim is %s", c.State())
		}
	})
}

func TestOnlyAUserWhoSendsTooManyCancellationsIsRefused(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		f.sells(time.Hour)
		for range 20 {
			httpapitest.Refused(t, f.Ask(t, t.Context(), event(t, "pay-cancel.json")), 409, sale.OrderPending)
		}
		if calls := f.Calls(func() {
			httpapitest.Refused(t, f.Ask(t, t.Context(), event(t, "pay-cancel.json")), 429, sale.TooManyRequests)
		}); calls > 0 {
			t.Errorf("the ledger was asked %d times, want none", calls)
		}
		httpapitest.Refused(t, f.Ask(t, t.Context(), event(t, "pay-cancel.json", httpapitest.User("bob"))), 404, sale.OrderNotFound)
	})
}

func TestACancellationThatIsRefused(t *testing.T) {
	confirmed := func(f *function) { f.sells(time.Hour); f.confirms() }
	for name, tt := range map[string]struct {
		change httpapitest.Change
		before func(*function)
		status int
		code   sale.Code
		asked  bool // whether the ledger was
	}{
		"nobody":               {func(r *events.APIGatewayV2HTTPRequest) { r.RequestContext.Authorizer = nil }, confirmed, 401, sale.Unauthorized, false},
		"an impossible user":   {httpapitest.User("a\nb"), confirmed, 400, sale.InvalidRequest, false},
		"an impossible sale":   {httpapitest.Path("saleId", "a b"), confirmed, 400, sale.InvalidRequest, false},
		"without a number yet": {nil, func(f *function) { f.sells(time.Hour) }, 409, sale.OrderPending, true},
		"paid":                 {nil, func(f *function) { confirmed(f); f.Pay("alice", "pi_1", 149900) }, 409, sale.OrderPaid, true},
		"final":                {nil, func(f *function) { f.sells(0); f.confirms() }, 409, sale.NotCancellable, true},
		"busy":                 {nil, func(f *function) { confirmed(f); f.Throttles() }, 503, sale.Busy, true},
	} {
		in(t, func(t *testing.T, f *function) {
			tt.before(f)
			before := f.DB.Dump()
			change := tt.change
			if change == nil {
				change = func(*events.APIGatewayV2HTTPRequest) {}
			}
			var r httpapi.Response
			calls := f.Calls(func() { r = f.Ask(t, t.Context(), event(t, "pay-cancel.json", change)) })
			httpapitest.Refused(t, r, tt.status, tt.code)
			if asked := calls > 0; asked != tt.asked || f.DB.Dump() != before {
				t.Errorf("%s: %d calls of the ledger, whose table is\n%s", name, calls, f.DB.Dump())
			}
			if told := r.Headers.RetryAfter != ""; told != (tt.code == sale.OrderPending || tt.code == sale.Busy) {
				t.Errorf("%s: Retry-After %q", name, r.Headers.RetryAfter)
			}
			if got := f.Logged(t, "result"); got != string(tt.code) {
				t.Errorf("%s: counted as %v", name, got)
			}
		})
	}
}
