package handler

import (
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/callers"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

var event = httpapitest.Event

func TestABuyerCancels(t *testing.T) {
	f := newFunction(t)
	r := f.Ask(t, t.Context(), event(t, "pay-cancel.json", telemetrytest.Confide))
	want := `{"claimId":"5LJQBKBVNQ2XRCM7KD3V4HTYWA","saleId":"moutai","state":"CANCELLED","acceptedAt":"2026-01-01T00:00:05.000Z","orderId":"406709376884146177"}`
	if r.StatusCode != 200 || r.Body != want || r.Headers.CacheControl != "no-store" {
		t.Errorf("%d %s, want %s", r.StatusCode, r.Body, want)
	}
	line, err := telemetrytest.Parse(f.Log.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if line.Fields["user"] != "alice" || line.Fields["saleId"] != "moutai" || line.Metrics["cancellations"] != "Count by service, result" || line.Fields["result"] != "ok" {
		t.Errorf("the line is %v, %v", line.Fields, line.Metrics)
	}
	if told := telemetrytest.Told(f.Log.Bytes()); told != nil {
		t.Errorf("the log tells %q", told)
	}
}

func TestACancellationThatIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change httpapitest.Change
		fault  error
		status int
		code   sale.Code
		asked  bool // whether the ledger was
	}{
		"nobody":               {func(r *events.APIGatewayV2HTTPRequest) { r.RequestContext.Authorizer = nil }, nil, 401, sale.Unauthorized, false},
		"an impossible user":   {httpapitest.User("a\nb"), nil, 400, sale.InvalidRequest, false},
		"an impossible sale":   {httpapitest.Path("saleId", "a b"), nil, 400, sale.InvalidRequest, false},
		"without a claim":      {httpapitest.User("bob"), nil, 404, sale.OrderNotFound, true},
		"without a number yet": {nil, sale.Refuse(sale.OrderPending, ""), 409, sale.OrderPending, true},
		"paid":                 {nil, sale.Refuse(sale.OrderPaid, ""), 409, sale.OrderPaid, true},
		"expired":              {nil, sale.Refuse(sale.OrderExpired, ""), 409, sale.OrderExpired, true},
		"final":                {nil, sale.Refuse(sale.NotCancellable, ""), 409, sale.NotCancellable, true},
		"busy":                 {nil, sale.Fail(sale.Busy, errors.New("ThrottlingException")), 503, sale.Busy, true},
	} {
		f := newFunction(t)
		f.fault = tt.fault
		change := tt.change
		if change == nil {
			change = func(*events.APIGatewayV2HTTPRequest) {}
		}
		r := f.Ask(t, t.Context(), event(t, "pay-cancel.json", change))
		httpapitest.Refused(t, r, tt.status, tt.code)
		if asked := f.calls > 0; asked != tt.asked {
			t.Errorf("%s: the ledger was asked: %v", name, asked)
		}
		if told := r.Headers.RetryAfter != ""; told != (tt.code == sale.OrderPending || tt.code == sale.Busy) {
			t.Errorf("%s: Retry-After %q", name, r.Headers.RetryAfter)
		}
	}
}

func TestTooManyCancellationsOfAUserAreRefusedBeforeAnythingIsRead(t *testing.T) {
	f := newFunction(t)
	cancelled, limited := 0, 0
	for range 10 * callers.Burst {
		before := f.calls
		switch r := f.Ask(t, t.Context(), event(t, "pay-cancel.json")); r.StatusCode {
		case 200:
			cancelled++
		default:
			limited++
			httpapitest.Refused(t, r, 429, sale.TooManyRequests)
			if f.calls != before || r.Headers.RetryAfter == "" {
				t.Errorf("%d calls of the ledger, Retry-After %q", f.calls-before, r.Headers.RetryAfter)
			}
		}
	}
	if cancelled < callers.Burst || limited == 0 {
		t.Errorf("%d answers and %d refusals, want at least %d and 1", cancelled, limited, callers.Burst)
	}
	if r := f.Ask(t, t.Context(), event(t, "pay-cancel.json", httpapitest.User("bob"))); r.StatusCode != 404 {
		t.Errorf("another user is told %d", r.StatusCode)
	}
}
