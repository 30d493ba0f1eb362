package handler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/httpapi"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

const acceptedBody = `{"claimId":"CLAIM1","saleId":"moutai","state":"PENDING","acceptedAt":"2026-01-01T00:00:05.000Z"}`

// isAccepted checks the whole answer to an accepted order.
func isAccepted(t *testing.T, r httpapi.Response) {
	t.Helper()
	if r.StatusCode != 202 || r.Body != acceptedBody {
		t.Errorf("%d %s, want 202 %s", r.StatusCode, r.Body, acceptedBody)
	}
	headers := httpapi.Headers{
		ContentType: "application/json", CacheControl: "no-store",
		Location: "/sales/moutai/orders/me", RetryAfter: r.Headers.RetryAfter, Version: sale.ProgramVersion,
	}
	if diff := cmp.Diff(headers, r.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if wait := r.Headers.RetryAfter; wait != "1" && wait != "2" {
		t.Errorf("Retry-After %q, want 1 or 2", wait)
	}
}

func TestTheLogCanReplaceAClaimThatABuyerIsToldOf(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		whole := strings.Repeat("\U0001F377", sale.MaxUser)
		for _, request := range []string{"purchase-idempotent.json", "purchase-idempotent.json", "purchase.json"} { // the repeat, and a refusal, too
			f.Log.Reset()
			if r := f.invoke(t, t.Context(), event(t, request, user(whole))); r.StatusCode != 202 && r.StatusCode != 409 {
				t.Fatalf("%d %s", r.StatusCode, r.Body)
			}
			c := f.Claim(whole)
			for name, want := range map[string]any{
				"saleId": "moutai", "user": whole, "claimId": c.ID, "shard": float64(c.Shard), "acceptedAt": float64(c.AcceptedAt.UnixMilli()), "requestKey": c.RequestKey,
			} {
				if got := f.Logged(t, name); got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
		}
	})
}

func TestTheSameIdempotencyKeyGetsTheSameBodyByteForByte(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		purchase := event(t, "purchase-idempotent.json") // bob's
		isAccepted(t, f.invoke(t, t.Context(), purchase))
		isAccepted(t, f.invoke(t, t.Context(), purchase))
		f.Confirm(ledger.ClaimRef{SaleID: "moutai", User: "bob", ClaimID: "CLAIM1"})
		f.over(f.Ledger()) // another environment
		isAccepted(t, f.invoke(t, t.Context(), purchase))
		f.Pay("bob", "pi_1", 1)
		f.SellOut()
		f.Pause()
		f.Edit(sale.Edit{ClosesAt: time.Now()})
		sold := f.claims()
		f.over(f.Ledger())
		bare := event(t, "purchase-idempotent.json", header("idempotency-key", "8e03978e-40d5-43e8-bc93-6894a57f9324"))
		isAccepted(t, f.invoke(t, t.Context(), bare))
		if len(f.queue.sent) != 1 || f.claims() != sold {
			t.Errorf("%d messages and %d claims, want one and %d", len(f.queue.sent), f.claims(), sold)
		}
	})
}

func TestABuyerWhoAsksAgainAfterALongWaitHealsTheOrder(t *testing.T) {
	keyed, bare := event(t, "purchase-idempotent.json"), event(t, "purchase.json", user("bob"))
	for _, tt := range []struct {
		name      string
		age       time.Duration // of the claim, whose message is lost
		request   []byte
		confirmed bool
		sent      bool
	}{
		{"within the grace", 30 * time.Second, keyed, false, false},
		{"after the grace", 31 * time.Second, keyed, false, true},
		{"without the key", 31 * time.Second, bare, false, true},
		{"as long as buyers help", ledger.ResendBound / 2, bare, false, true},
		{"when the claim is reconcile's", ledger.ResendBound/2 + time.Millisecond, bare, false, false},
		{"for a confirmed claim", time.Minute, keyed, true, false},
	} {
		in(t, func(t *testing.T, f *function) {
			f.queue.fault = errors.New("down")
			f.invoke(t, t.Context(), keyed)
			f.queue.fault = nil
			if tt.confirmed {
				f.Confirm(ledger.ClaimRef{SaleID: "moutai", User: "bob", ClaimID: "CLAIM1"})
				f.over(f.Ledger()) // another environment
			}
			time.Sleep(tt.age)
			for range 2 { // the second finds the mark
				r := f.invoke(t, t.Context(), tt.request)
				if string(tt.request) == string(keyed) {
					isAccepted(t, r)
				} else {
					refused(t, r, 409, sale.AlreadyOrdered)
				}
			}
			want := 0
			if tt.sent {
				want = 1
			}
			if len(f.queue.sent) != want {
				t.Errorf("%s: %d messages, want %d: %s", tt.name, len(f.queue.sent), want, f.Log.String())
			}
		})
	}
}

// A mark may have been written although the handler waits no longer, and reconcile would not send a message until it is old.
func TestARepeatIsAnsweredWithinThreeTenthsOfASecondWhateverBecomesOfItsMark(t *testing.T) {
	for name, tt := range map[string]struct {
		mark dynamotest.Fault
		sent int // again
	}{
		"it cannot be written":                   {dynamotest.Fault{Kind: dynamotest.Throttle}, 0},
		"it hangs":                               {dynamotest.Fault{Delay: time.Hour}, 1},
		"it is written after the handler's wait": {dynamotest.Fault{ReplyDelay: 400 * time.Millisecond}, 1},
	} {
		in(t, func(t *testing.T, f *function) {
			f.invoke(t, t.Context(), event(t, "purchase-idempotent.json"))
			f.queue.sent = nil // lost
			time.Sleep(time.Minute)
			f.DB.Fault = tt.mark.On("UpdateItem", "CLAIM#")
			began := time.Now()
			isAccepted(t, f.invoke(t, t.Context(), event(t, "purchase-idempotent.json")))
			if took := time.Since(began); took > 300*time.Millisecond || len(f.queue.sent) != tt.sent || tt.sent == 0 && f.Logged(t, "resendError") == nil {
				t.Errorf("%s: %d messages after %v, want %d: %s", name, len(f.queue.sent), took, tt.sent, f.Log.String())
			}
		})
	}
}

func TestAClaimMadeInTheLastMomentIsSentInsideTheMargin(t *testing.T) {
	in(t, func(t *testing.T, f *function) {
		const left = 400 * time.Millisecond
		f.DB.Fault = dynamotest.Fault{ReplyDelay: left - time.Millisecond}.On("TransactWriteItems", "")
		f.Within(left+invocation.Margin, func(ctx context.Context) {
			isAccepted(t, f.invoke(t, ctx, event(t, "purchase.json")))
		})
		if len(f.queue.sent) != 1 || f.queue.over != nil {
			t.Fatalf("%d messages sent, context %v; want one on a live context", len(f.queue.sent), f.queue.over)
		}
		if within := time.Until(f.queue.deadline); within != time.Millisecond+sendTime {
			t.Errorf("the send may last %s, want %s after the end", within, sendTime)
		}
	})
}
