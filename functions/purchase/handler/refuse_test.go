package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/orderq"
	"flashsale/shared/ratelimit"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry/telemetrytest"
)

// verdict is a user check with the same answer for everybody.
type verdict struct {
	eligible bool
	err      error
	asked    int
}

func (v *verdict) IsEligible(context.Context, string, string, time.Time) (bool, error) {
	v.asked++
	return v.eligible, v.err
}

// fields are members of a line; nil takes one away that every line has.
type fields map[string]any

// isLine checks the line of the last request and the metrics in it beside purchases; of an
// error want has the start.
func isLine(t *testing.T, f *function, outcome sale.Code, result string, more fields, counted []string) {
	t.Helper()
	want := fields{"user": "alice", "saleId": "moutai", "result": result}
	maps.Copy(want, more)
	metrics := map[string]string{}
	for _, name := range counted {
		metrics[name] = "Count by service"
	}
	f.IsLine(t, outcome, want, metrics)
}

func TestEachAcceptanceLeavesItsLine(t *testing.T) {
	unreachable := errors.New("check user: ask service: connection refused")
	held := func(f *function) { f.Buy("alice", "HELD", "k1") }
	for _, tt := range []struct {
		name    string
		before  func(*function)
		change  httpapitest.Change
		sent    int
		line    fields
		counted []string
	}{
		{"for the first time", nil, nil, 1, fields{"tries": 1.0}, nil},
		{"again", held, header("idempotency-key", "k1"), 0, fields{"tries": 1.0}, nil},
		{"again, and sent again", func(f *function) { held(f); time.Sleep(time.Minute) }, header("idempotency-key", "k1"), 1,
			fields{"tries": 1.0, "resent": 1.0}, []string{"resent"}},
		{"not sent", func(f *function) { f.queue.fault = errors.New("sqs: down") }, nil, 0,
			fields{"tries": 1.0, "unsent": 1.0, "sendError": "sqs: down"}, []string{"unsent"}},
		{"after a check", func(f *function) { f.handler.Users = &verdict{eligible: true} }, nil, 1, fields{"tries": 1.0, "checkMs": 0.0}, nil},
		{"without a check", func(f *function) { f.handler.Users = &verdict{eligible: true, err: unreachable} }, nil, 1,
			fields{"tries": 1.0, "checkMs": 0.0, "unchecked": 1.0, "checkError": unreachable.Error()}, []string{"unchecked"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, f *function) {
				if tt.before != nil {
					tt.before(f)
				}
				r := f.invoke(t, t.Context(), event(t, "purchase.json", telemetrytest.Confide, tt.change))
				c := f.Claim("alice")
				tt.line["claimId"], tt.line["shard"], tt.line["acceptedAt"] = c.ID, float64(c.Shard), float64(c.AcceptedAt.UnixMilli())
				if c.RequestKey != "" {
					tt.line["requestKey"] = c.RequestKey
				}
				if r.StatusCode != 202 || f.claims() != 1 || !slices.Equal(f.queue.sent, slices.Repeat([]orderq.Message{orderq.Of(c)}, tt.sent)) {
					t.Errorf("%d %s, %d claims, %d messages", r.StatusCode, r.Body, f.claims(), len(f.queue.sent))
				}
				isLine(t, f, "", "accepted", tt.line, tt.counted)
			})
		})
	}
}

func TestEachRefusalHasItsStatusItsWaitAndItsLine(t *testing.T) {
	unreachable := errors.New("check user: ask service: connection refused")
	const soon = "1 to 3"
	opensIn := func(d time.Duration) func(*function) {
		return func(f *function) { f.Edit(sale.Edit{OpensAt: time.Now().Add(d)}) }
	}
	for _, tt := range []struct {
		name    string
		before  func(*function)
		saleID  string
		status  int
		told    sale.Code
		wait    string
		outcome sale.Code
		line    fields
		counted []string
	}{
		{"no such sale", nil, "other", 404, sale.SaleNotFound, "", sale.SaleNotFound, fields{"saleId": "other", "tries": 0.0}, nil},
		{"a sale still being seeded", func(f *function) { f.Draft("draft") }, "draft", 404, sale.SaleNotFound, "", sale.SaleNotFound, fields{"saleId": "draft", "tries": 0.0}, nil},
		{"not open for a minute and a half", opensIn(90 * time.Second), "", 403, sale.NotOpen, "90", sale.NotOpen, fields{"tries": 0.0}, nil},
		{"not open for a moment", opensIn(time.Millisecond), "", 403, sale.NotOpen, "1", sale.NotOpen, fields{"tries": 0.0}, nil},
		{"closed", func(f *function) { f.Edit(sale.Edit{ClosesAt: time.Now()}) }, "", 410, sale.Closed, "", sale.Closed, fields{"tries": 0.0}, nil},
		{"paused", func(f *function) { f.Pause() }, "", 503, sale.Paused, soon, sale.Paused, fields{"tries": 0.0}, nil},
		{"recalled", func(f *function) { f.Recall() }, "", 410, sale.Recalled, "", sale.Recalled, fields{"tries": 0.0}, nil},
		{"recalled, and the user has an order", func(f *function) { f.Buy("alice", "HELD", "k1"); f.Recall() }, "", 409, sale.AlreadyOrdered, "", sale.AlreadyOrdered, fields{"tries": 0.0}, nil},
		{"sold out", func(f *function) { f.SellOut() }, "", 409, sale.SoldOut, "", sale.SoldOut, fields{"tries": 0.0}, nil},
		{"already ordered", func(f *function) { f.Buy("alice", "HELD", "k1") }, "", 409, sale.AlreadyOrdered, "", sale.AlreadyOrdered, fields{"tries": 1.0}, nil},
		{"not eligible", func(f *function) { f.handler.Users = &verdict{} }, "", 403, sale.NotEligible, "", sale.NotEligible,
			fields{"tries": 0.0, "checkMs": 0.0, "error": "not-eligible: the user may not buy in this sale"}, nil},
		{"busy for want of a check", func(f *function) { f.handler.Users = &verdict{err: unreachable} }, "", 503, sale.Busy, soon, sale.Busy,
			fields{"tries": 0.0, "checkMs": 0.0, "unchecked": 1.0, "level": "WARN", "error": "busy: " + unreachable.Error()}, []string{"unchecked"}},
		{"busy", func(f *function) { f.Throttles() }, "", 503, sale.Busy, soon, sale.Busy,
			fields{"tries": 0.0, "level": "WARN", "error": "busy: "}, nil},
		// Buyers are told to come again, operators that something is wrong.
		{"a sale for a newer version", func(f *function) { f.Newer("SALE#moutai", "SALE") }, "", 503, sale.Busy, soon, sale.NewerVersion,
			fields{"result": "internal", "tries": 0.0, "level": "ERROR", "error": "newer-version: "}, nil},
		{"an unknown failure", func(f *function) { f.over(f.Nowhere()) }, "", 500, sale.Internal, "", sale.Internal,
			fields{"tries": 0.0, "level": "ERROR", "error": "internal: "}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in(t, func(t *testing.T, f *function) {
				if tt.before != nil {
					tt.before(f)
				}
				claims := f.claims()
				r := f.invoke(t, t.Context(), event(t, "purchase.json", telemetrytest.Confide, httpapitest.Path("saleId", cmp.Or(tt.saleID, testledger.SaleID))))
				body := refused(t, r, tt.status, tt.told)
				if knowsMore := tt.status != 404 && tt.status != 500; knowsMore && body["order"] != "/sales/moutai/orders/me" || strings.Contains(r.Body, "version") {
					t.Errorf("%s, want a link to the order and nothing about versions", r.Body)
				}
				wait := r.Headers.RetryAfter
				if tt.wait == soon && (wait == "1" || wait == "2" || wait == "3") {
					wait = soon
				}
				if wait != tt.wait {
					t.Errorf("Retry-After %q, want %q", wait, tt.wait)
				}
				if tt.told == sale.AlreadyOrdered {
					c := f.Claim("alice")
					tt.line["claimId"], tt.line["shard"], tt.line["acceptedAt"], tt.line["requestKey"] = c.ID, float64(c.Shard), float64(c.AcceptedAt.UnixMilli()), c.RequestKey
					if claim, _ := body["claim"].(map[string]any); claim["claimId"] != c.ID || claim["state"] != "PENDING" {
						t.Errorf("the claim is %v", claim)
					}
				}
				if tt.line["error"] == nil {
					tt.line["error"] = fmt.Sprintf("%s: %s", tt.told, body["detail"])
				}
				isLine(t, f, tt.outcome, string(tt.outcome), tt.line, tt.counted)
				if f.claims() != claims || len(f.queue.sent) != 0 {
					t.Errorf("%d claims and %d messages, want %d and none", f.claims(), len(f.queue.sent), claims)
				}
			})
		})
	}
}

// See also infra/proof/contract.
func TestBadInputIsAnsweredAndReachesNothing(t *testing.T) {
	for name, code := range map[string]sale.Code{
		"purchase-no-token.json": sale.Unauthorized, "purchase-bad-body.json": sale.InvalidRequest, "purchase.json": sale.InvalidRequest,
	} {
		in(t, func(t *testing.T, f *function) {
			change := map[string]httpapitest.Change{"purchase.json": httpapitest.Path("saleId", "moutai#STOCK")}[name]
			calls := f.Calls(func() {
				r := f.invoke(t, t.Context(), event(t, name, telemetrytest.Confide, change))
				body := refused(t, r, map[sale.Code]int{sale.Unauthorized: 401, sale.InvalidRequest: 400}[code], code)
				if body["detail"] == nil || body["order"] != nil {
					t.Errorf("%s: body %v, want a detail and no link made of bad input", name, body)
				}
				isLine(t, f, code, string(code), fields{"user": nil, "saleId": nil, "error": fmt.Sprintf("%s: %s", code, body["detail"])}, nil)
			})
			if calls != 0 || len(f.queue.sent) != 0 {
				t.Errorf("%s: %d calls and %d messages got through", name, calls, len(f.queue.sent))
			}
		})
	}
}

func TestTooManyRequestsOfAUserAreRefusedBeforeAnythingIsReadOrWritten(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		check := &verdict{eligible: true}
		f.handler.Users = check
		keyed := event(t, "purchase.json", header("idempotency-key", "k1"))
		first := f.invoke(t, t.Context(), keyed)
		isAccepted(t, first)
		for range ratelimit.Burst - 1 {
			f.invoke(t, t.Context(), event(t, "purchase.json"))
		}
		asked, sent, ledger := check.asked, len(f.queue.sent), f.handler.ledger
		f.handler.ledger = nil // to ask it, even for what it remembers, would be answered 500
		for range 50 {
			r := f.invoke(t, t.Context(), keyed)
			body := refused(t, r, 429, sale.TooManyRequests)
			if body["order"] != "/sales/moutai/orders/me" || body["claim"] != nil {
				t.Errorf("body %v", body)
			}
			if wait := r.Headers.RetryAfter; wait != "1" && wait != "2" && wait != "3" {
				t.Errorf("Retry-After %q, want 1 to 3 seconds", wait)
			}
			if got := f.Logged(t, "result"); got != "too-many-requests" {
				t.Errorf("counted as %v", got)
			}
		}
		f.handler.ledger = ledger
		if check.asked != asked || len(f.queue.sent) != sent {
			t.Errorf("refused requests reached the check %d times, the queue %d times", check.asked-asked, len(f.queue.sent)-sent)
		}
		if r := f.invoke(t, t.Context(), event(t, "purchase.json", user("bob"))); r.StatusCode != 202 {
			t.Errorf("another user is told %d", r.StatusCode)
		}
		// A repeat after Retry-After gets the answer that was lost (P5, P9).
		time.Sleep(time.Second)
		again := f.invoke(t, t.Context(), keyed)
		if again.StatusCode != 202 || again.Body != first.Body {
			t.Errorf("the repeat is answered %d %s, want %s", again.StatusCode, again.Body, first.Body)
		}
	})
}
