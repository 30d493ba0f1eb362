package handler

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/shared/callers"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

func TestTheSalePageIsTheSameForEverybodyForASecond(t *testing.T) {
	f := newFunction(t)
	body := answered(t, f.Ask(t, t.Context(), event(t, "query-sale.json")), "max-age=1")
	shown, err := time.Parse("2006-01-02T15:04:05.000Z", body["now"].(string))
	if err != nil || time.Since(shown).Abs() > time.Minute {
		t.Errorf("now is %v, %v", body["now"], err)
	}
	delete(body, "now")
	want := map[string]any{
		"saleId": "moutai", "name": "Feitian Moutai", "state": "OPEN", "remaining": 99.0,
		"opensAt": "2026-01-01T00:00:00.000Z", "closesAt": "2036-01-01T00:00:00.000Z",
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestTheSalePageNamesThePhase(t *testing.T) {
	past, future := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		change func(*books)
		want   string
	}{
		{"before it opens", func(b *books) { b.sale.OpensAt, b.sale.ClosesAt = future, future.Add(1) }, "NOT_OPEN"},
		{"while it sells", func(*books) {}, "OPEN"},
		{"while it is paused", func(b *books) { b.sale.Paused = true }, "PAUSED"},
		{"when the sale says that every shard is empty", func(b *books) {
			for k := range b.sale.Shards {
				b.sale.Empty.Add(k)
			}
			b.remaining.Units = 0
		}, "SOLD_OUT"},
		{"when the count says so first", func(b *books) { b.remaining.Units = 0 }, "SOLD_OUT"},
		{"paused with no units left", func(b *books) { b.sale.Paused, b.remaining.Units = true, 0 }, "PAUSED"},
		{"after it closed", func(b *books) { b.sale.ClosesAt = past }, "CLOSED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			tt.change(f.books)
			body := answered(t, f.Ask(t, t.Context(), event(t, "query-sale.json")), "max-age=1")
			if body["state"] != tt.want || body["remaining"] != float64(f.remaining.Units) {
				t.Errorf("state %v with %v remaining, want %s", body["state"], body["remaining"], tt.want)
			}
		})
	}
}

func TestACountFromASampleSaysSo(t *testing.T) {
	f := newFunction(t)
	f.remaining = ledger.Remaining{Units: 4321, Approximate: true}
	body := answered(t, f.Ask(t, t.Context(), event(t, "query-sale.json")), "max-age=1")
	if body["remaining"] != 4321.0 || body["approximate"] != true {
		t.Errorf("body %v", body)
	}
}

func TestABuyerSeesTheirOwnClaim(t *testing.T) {
	f := newFunction(t)
	r := f.Ask(t, t.Context(), event(t, "query-claim.json"))
	want := map[string]any{
		"claimId": "5LJQBKBVNQ2XRCM7KD3V4HTYWA", "saleId": "moutai", "state": "CONFIRMED",
		"acceptedAt": "2026-01-01T00:00:05.000Z", "orderId": "406709376884146177",
	}
	if diff := cmp.Diff(want, answered(t, r, "no-store")); diff != "" {
		t.Errorf("confirmed (-want +got):\n%s", diff)
	}
	if wait := r.Headers.RetryAfter; wait != "" {
		t.Errorf("Retry-After %s with a confirmed claim", wait)
	}

	at := time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)
	confirmed := f.claims["alice"]
	for state, claim := range map[string]sale.Claim{
		"PAID": {PaidAt: at}, "EXPIRED": {ReleasedAt: at, ReleasedBy: sale.ByExpiry}, "CANCELLED": {ReleasedAt: at, ReleasedBy: sale.ByBuyer},
	} {
		claim.ID, claim.SaleID, claim.AcceptedAt, claim.OrderID = confirmed.ID, confirmed.SaleID, confirmed.AcceptedAt, confirmed.OrderID
		f.claims["alice"] = claim
		r = f.Ask(t, t.Context(), event(t, "query-claim.json"))
		want["state"] = state
		if diff := cmp.Diff(want, answered(t, r, "no-store")); diff != "" || r.Headers.RetryAfter != "" {
			t.Errorf("%s (-want +got):\n%s%v", state, diff, r.Headers)
		}
	}

	pending := confirmed
	pending.OrderID = 0
	f.claims["alice"] = pending
	r = f.Ask(t, t.Context(), event(t, "query-claim.json"))
	delete(want, "orderId")
	want["state"] = "PENDING"
	if diff := cmp.Diff(want, answered(t, r, "no-store")); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
}

func TestABuyerIsAskedToWaitLongerTheLongerTheClaimIsPending(t *testing.T) {
	f := newFunction(t)
	claim := f.claims["alice"]
	claim.OrderID = 0
	f.claims["alice"] = claim
	// The age of the claim and the allowed Retry-After, in seconds.
	for _, c := range []struct{ age, from, to int }{
		{-60, 1, 2}, {0, 1, 2}, {4, 1, 2}, {6, 1, 3}, {20, 5, 10}, {60, 15, 30}, {86_400, 15, 30},
	} {
		f.handler.now = func() time.Time { return claim.AcceptedAt.Add(time.Duration(c.age) * time.Second) }
		met := map[int]bool{}
		for range 400 {
			f.handler.callers = callers.New() // these are questions of many buyers
			r := f.Ask(t, t.Context(), event(t, "query-claim.json"))
			wait, err := strconv.Atoi(r.Headers.RetryAfter)
			if err != nil || wait < c.from || wait > c.to {
				t.Fatalf("Retry-After %q after %d s, want %d to %d", r.Headers.RetryAfter, c.age, c.from, c.to)
			}
			met[wait] = true
		}
		if !met[c.from] || !met[c.to] {
			t.Errorf("after %d s the waits are %v, want all from %d to %d", c.age, met, c.from, c.to)
		}
	}
}

func TestABuyerWhoseClaimStaysPendingPollsRarely(t *testing.T) {
	f := newFunction(t)
	claim := f.claims["alice"]
	claim.OrderID = 0
	f.claims["alice"] = claim
	age, polls := time.Duration(0), 0
	f.handler.now = func() time.Time { return claim.AcceptedAt.Add(age) }
	for age < 140*time.Second {
		wait, err := strconv.Atoi(f.Ask(t, t.Context(), event(t, "query-claim.json")).Headers.RetryAfter)
		if err != nil {
			t.Fatal(err)
		}
		age += time.Duration(wait) * time.Second
		polls++
	}
	if polls > 25 { // one or two seconds each time would be about 93
		t.Errorf("%d polls in 140 seconds", polls)
	}
	t.Logf("%d polls in 140 seconds", polls)
}

func TestABuyerSeesTheirOwnOrder(t *testing.T) {
	f := newFunction(t)
	want := map[string]any{
		"orderId": "406709376884146177", "saleId": "moutai", "claimId": "5LJQBKBVNQ2XRCM7KD3V4HTYWA",
		"confirmedAt": "2026-01-01T00:00:06.000Z",
	}
	if diff := cmp.Diff(want, answered(t, f.Ask(t, t.Context(), event(t, "query-order.json")), "no-store")); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// The answer for somebody else's order must be exactly that for a missing one, or ids
// could be probed.
func TestSomebodyElsesOrderIsLikeNoOrder(t *testing.T) {
	f := newFunction(t)
	theirs := f.Ask(t, t.Context(), event(t, "query-order-not-mine.json"))
	refused(t, theirs, 404, sale.OrderNotFound)
	none := f.Ask(t, t.Context(), event(t, "query-order.json", user("bob"), path("orderId", "406709376884146178")))
	if diff := cmp.Diff(none, theirs); diff != "" {
		t.Errorf("the answers differ (-none +theirs):\n%s", diff)
	}
	for _, name := range []string{"Alice", "alice ", "alic", "alice#"} {
		refused(t, f.Ask(t, t.Context(), event(t, "query-order.json", user(name))), 404, sale.OrderNotFound)
	}
}

func TestRefusalsOfTheQueries(t *testing.T) {
	tests := []struct {
		name    string
		fixture string
		change  func(*events.APIGatewayV2HTTPRequest)
		status  int
		code    sale.Code
		reads   bool // whether the request reads the table
	}{
		{"a sale that does not exist", "query-sale.json", path("saleId", "other"), 404, sale.SaleNotFound, true},
		{"a sale id with a separator", "query-sale.json", path("saleId", "moutai#STOCK"), 400, sale.InvalidRequest, false},
		{"a sale id of 65 characters", "query-sale.json", path("saleId", strings.Repeat("s", 65)), 400, sale.InvalidRequest, false},
		{"a sale id with a control character", "query-sale.json", path("saleId", "a\x1b"), 400, sale.InvalidRequest, false},
		{"the claim of nobody", "query-claim.json", anonymous, 401, sale.Unauthorized, false},
		{"the claim of an impossible user", "query-claim.json", user("a\nb"), 400, sale.InvalidRequest, false},
		{"a claim in an impossible sale", "query-claim.json", path("saleId", "a b"), 400, sale.InvalidRequest, false},
		{"a claim in a sale that does not exist", "query-claim.json", path("saleId", "other"), 404, sale.SaleNotFound, true},
		{"a claim that does not exist", "query-claim.json", user("bob"), 404, sale.OrderNotFound, true},
		{"the order of nobody", "query-order.json", anonymous, 401, sale.Unauthorized, false},
		{"an order id that is text", "query-order.json", path("orderId", "abc"), 400, sale.InvalidRequest, false},
		{"an order id that is negative", "query-order.json", path("orderId", "-1"), 400, sale.InvalidRequest, false},
		{"an order id with a leading zero", "query-order.json", path("orderId", "0406709376884146177"), 400, sale.InvalidRequest, false},
		{"an order id that is too large", "query-order.json", path("orderId", "9223372036854775808"), 400, sale.InvalidRequest, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFunction(t)
			r := f.Ask(t, t.Context(), event(t, tt.fixture, tt.change))
			if tt.fixture == "query-sale.json" { // the same for everybody
				if r.Headers.CacheControl != "max-age=2" {
					t.Errorf("Cache-Control %q", r.Headers.CacheControl)
				}
				r.Headers.CacheControl = "no-store"
			}
			refused(t, r, tt.status, tt.code)
			if got := f.calls > 0; got != tt.reads {
				t.Errorf("%d reads", f.calls)
			}
		})
	}
}

func TestTooManyQuestionsOfAUserAreRefusedBeforeAnythingIsRead(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	for _, fixture := range []string{"query-claim.json", "query-order.json"} {
		f := newFunction(t)
		f.handler.now = func() time.Time { return now }
		for range callers.Burst / 2 { // both routes count
			answered(t, f.Ask(t, t.Context(), event(t, "query-claim.json")), "no-store")
			answered(t, f.Ask(t, t.Context(), event(t, "query-order.json")), "no-store")
		}
		before := f.calls
		r := f.Ask(t, t.Context(), event(t, fixture))
		if body := refused(t, r, 429, sale.TooManyRequests); body["detail"] != "this user sends too many requests" || r.Headers.RetryAfter == "" {
			t.Errorf("%s: %v, Retry-After %q", fixture, body, r.Headers.RetryAfter)
		}
		if f.calls != before {
			t.Errorf("%s: %d reads", fixture, f.calls-before)
		}
		if r := f.Ask(t, t.Context(), event(t, "query-sale.json")); r.StatusCode != 200 {
			t.Errorf("the public page counts: %d", r.StatusCode)
		}
		if r := f.Ask(t, t.Context(), event(t, fixture, user("bob"))); r.StatusCode != 404 {
			t.Errorf("%s: another user is told %d", fixture, r.StatusCode)
		}
		f.handler.now = func() time.Time { return now.Add(time.Second) }
		if r := f.Ask(t, t.Context(), event(t, fixture)); r.StatusCode != 200 {
			t.Errorf("%s: a second later the answer is %d", fixture, r.StatusCode)
		}
	}
}

func TestAFaultIsBusyOrInternalOnEveryRouteAndTellsNothing(t *testing.T) {
	faults := []struct {
		name   string
		change func(*books)
		status int
		code   sale.Code
	}{
		{"a throttled table", func(b *books) { b.fault = sale.Fail(sale.Busy, errors.New("ThrottlingException")) }, 503, sale.Busy},
		{"a sale for a newer release", func(b *books) { b.fault = sale.Refuse(sale.NewerVersion, "ledger-7") }, 503, sale.Busy},
		{"a foreign error", func(b *books) { b.fault = errors.New("ValidationException: ledger-7") }, 500, sale.Internal},
		{"a panic", func(b *books) { b.panics = true }, 500, sale.Internal},
	}
	for _, fault := range faults {
		for _, fixture := range []string{"query-sale.json", "query-claim.json", "query-order.json"} {
			t.Run(fault.name+", "+fixture, func(t *testing.T) {
				f := newFunction(t)
				fault.change(f.books)
				r := f.Ask(t, t.Context(), event(t, fixture))
				refused(t, r, fault.status, fault.code)
				if told := r.Headers.RetryAfter != ""; told != (fault.status == 503) {
					t.Errorf("Retry-After %q with status %d", r.Headers.RetryAfter, fault.status)
				}
			})
		}
	}
}

func TestARouteThatTheTemplateDoesNotHaveIsInternal(t *testing.T) {
	f := newFunction(t)
	r := f.Ask(t, t.Context(), event(t, "query-sale.json", func(r *events.APIGatewayV2HTTPRequest) { r.RouteKey = "DELETE /sales/{saleId}" }))
	refused(t, r, 500, sale.Internal)
	if f.calls != 0 {
		t.Errorf("%d reads", f.calls)
	}
}

func TestQueriesEndHalfASecondBeforeTheDeadline(t *testing.T) {
	f := newFunction(t)
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	answered(t, f.Ask(t, ctx, event(t, "query-order.json")), "no-store")
	if want := deadline.Add(-invocation.Margin); !f.deadline.Equal(want) {
		t.Errorf("the ledger had until %s, want %s", f.deadline, want)
	}
}
