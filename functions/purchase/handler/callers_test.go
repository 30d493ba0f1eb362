package handler

import (
	"testing"
	"time"

	"flashsale/shared/callers"
	"flashsale/shared/sale"
)

func TestTooManyRequestsOfAUserAreRefusedBeforeAnythingIsReadOrWritten(t *testing.T) {
	f := newFunction(t)
	check := &verdict{admitted: true}
	f.handler.Checking(check)
	first := f.invoke(t, t.Context(), event(t, "purchase.json", header("idempotency-key", "k1")))
	isAccepted(t, first)
	for range callers.Burst - 1 {
		f.invoke(t, t.Context(), event(t, "purchase.json"))
	}
	requests, asked, sent := len(f.requests), check.asked, len(f.queue.sent)
	for range 50 {
		r := f.invoke(t, t.Context(), event(t, "purchase.json", header("idempotency-key", "k1")))
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
	if len(f.requests) != requests || check.asked != asked || len(f.queue.sent) != sent {
		t.Errorf("refused requests reached the ledger %d times, the check %d times, the queue %d times",
			len(f.requests)-requests, check.asked-asked, len(f.queue.sent)-sent)
	}
	if r := f.invoke(t, t.Context(), event(t, "purchase.json", user("bob"))); r.StatusCode != 202 {
		t.Errorf("another user is told %d", r.StatusCode)
	}
	// A repeat after Retry-After gets the answer that was lost (P5, P9).
	f.now = f.now.Add(time.Second)
	again := f.invoke(t, t.Context(), event(t, "purchase.json", header("idempotency-key", "k1")))
	if again.StatusCode != 202 || again.Body != first.Body {
		t.Errorf("the repeat is answered %d %s, want %s", again.StatusCode, again.Body, first.Body)
	}
}
