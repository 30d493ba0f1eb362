package handler

import (
	"testing"
	"time"

	"flashsale/shared/callers"
	"flashsale/shared/sale"
)

func TestTooManyRequestsOfAUserAreRefusedBeforeAnythingIsReadOrWritten(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		check := &verdict{eligible: true}
		f.handler.Checking(check)
		keyed := event(t, "purchase.json", header("idempotency-key", "k1"))
		first := f.invoke(t, t.Context(), keyed)
		isAccepted(t, first)
		for range callers.Burst - 1 {
			f.invoke(t, t.Context(), event(t, "purchase.json"))
		}
		asked, sent, book := check.asked, len(f.queue.sent), f.handler.book
		f.handler.book = nil // to ask it, even for what it remembers, would be answered 500
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
		f.handler.book = book
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
