package handler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/httpapi"
	"flashsale/shared/invocation"
	"flashsale/shared/orderq"
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
		Location: "/sales/moutai/orders/me", RetryAfter: r.Headers.RetryAfter,
	}
	if diff := cmp.Diff(headers, r.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if wait := r.Headers.RetryAfter; wait != "1" && wait != "2" {
		t.Errorf("Retry-After %q, want 1 or 2", wait)
	}
}

func TestAnAcceptedOrderIsAnsweredWithItsClaimAndSentOnce(t *testing.T) {
	f := newFunction(t)
	isAccepted(t, f.invoke(t, t.Context(), event(t, "purchase.json")))
	want := []orderq.Message{{SaleID: "moutai", User: "alice", ClaimID: "CLAIM1"}}
	if diff := cmp.Diff(want, f.queue.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	for name, want := range map[string]any{"outcome": "ok", "result": "accepted", "purchases": 1.0, "tries": 1.0, "user": "alice", "saleId": "moutai"} {
		if got := f.Logged(t, name); got != want {
			t.Errorf("logged %s = %v, want %v", name, got, want)
		}
	}
}

func TestTheBuyerIsTheTokensSubWhateverElseTheRequestSays(t *testing.T) {
	f := newFunction(t)
	f.invoke(t, t.Context(), event(t, "purchase.json", header("x-user", "mallory"), header("sub", "mallory"), func(r *events.APIGatewayV2HTTPRequest) {
		r.QueryStringParameters = map[string]string{"user": "mallory", "saleId": "other"}
		r.PathParameters["user"] = "mallory"
	}))
	if f.claims["alice"] == nil || f.claims["mallory"] != nil {
		t.Errorf("claims %v, want one of alice", f.claims)
	}
}

func TestTheSameIdempotencyKeyGetsTheSameBodyByteForByte(t *testing.T) {
	f := newFunction(t)
	purchase := event(t, "purchase-idempotent.json")
	isAccepted(t, f.invoke(t, t.Context(), purchase))
	isAccepted(t, f.invoke(t, t.Context(), purchase))

	f.claims["bob"].OrderID = 406709376884146177
	isAccepted(t, f.invoke(t, t.Context(), purchase))
	f.claims["bob"].PaidAt = f.now
	isAccepted(t, f.invoke(t, t.Context(), purchase))

	f.stock, f.sale.Paused = 0, true
	f.now = f.sale.ClosesAt
	bare := event(t, "purchase-idempotent.json", header("idempotency-key", "8e03978e-40d5-43e8-bc93-6894a57f9324"))
	isAccepted(t, f.invoke(t, t.Context(), bare))
	if len(f.queue.sent) != 1 || len(f.claims) != 1 {
		t.Errorf("%d messages and %d claims, want one each", len(f.queue.sent), len(f.claims))
	}
}

func TestAClaimStandsAlsoWhenItsMessageCannotBeSent(t *testing.T) {
	f := newFunction(t)
	f.queue.fault = errors.New("sqs: secret endpoint is down")
	isAccepted(t, f.invoke(t, t.Context(), event(t, "purchase.json")))
	if f.Logged(t, "unsent") != 1.0 || f.Logged(t, "outcome") != "ok" || f.Logged(t, "level") != "INFO" {
		t.Errorf("the log does not count the message: %s", f.Log.String())
	}
}

func TestABuyerWhoAsksAgainAfterALongWaitHealsTheOrder(t *testing.T) {
	f := newFunction(t)
	f.queue.fault = errors.New("down")
	f.invoke(t, t.Context(), event(t, "purchase-idempotent.json"))
	f.queue.fault = nil

	f.now = f.now.Add(30 * time.Second)
	isAccepted(t, f.invoke(t, t.Context(), event(t, "purchase-idempotent.json")))
	if len(f.queue.sent) != 0 {
		t.Fatal("sent again within the grace")
	}
	f.now = f.now.Add(time.Second)
	isAccepted(t, f.invoke(t, t.Context(), event(t, "purchase-idempotent.json")))
	if len(f.queue.sent) != 1 || f.Logged(t, "resent") != 1.0 {
		t.Errorf("%d messages after the grace, want one: %s", len(f.queue.sent), f.Log.String())
	}
	refused(t, f.invoke(t, t.Context(), event(t, "purchase.json", user("bob"))), 409, sale.AlreadyOrdered)
	if len(f.queue.sent) != 1 {
		t.Errorf("%d messages, want no other at once", len(f.queue.sent))
	}
	f.now = f.now.Add(helpTime - 31*time.Second)
	refused(t, f.invoke(t, t.Context(), event(t, "purchase.json", user("bob"))), 409, sale.AlreadyOrdered)
	if len(f.queue.sent) != 2 {
		t.Errorf("%d messages, want a repeat without a key to heal the order, too", len(f.queue.sent))
	}
	f.now = f.now.Add(time.Millisecond)
	refused(t, f.invoke(t, t.Context(), event(t, "purchase.json", user("bob"))), 409, sale.AlreadyOrdered)
	if len(f.queue.sent) != 2 {
		t.Errorf("%d messages, want none for a claim that is reconcile's", len(f.queue.sent))
	}
	f.claims["bob"].OrderID = 1
	f.claims["bob"].AcceptedAt = f.now.Add(-time.Minute)
	f.invoke(t, t.Context(), event(t, "purchase-idempotent.json"))
	if len(f.queue.sent) != 2 {
		t.Errorf("%d messages, want none for a confirmed claim", len(f.queue.sent))
	}
}

func TestARepeatIsAnsweredAlsoWhenTheClaimCannotBeMarked(t *testing.T) {
	f := newFunction(t)
	f.invoke(t, t.Context(), event(t, "purchase-idempotent.json"))
	f.now = f.now.Add(time.Minute)
	f.markErr = sale.Fail(sale.Busy, errors.New("throttled"))
	isAccepted(t, f.invoke(t, t.Context(), event(t, "purchase-idempotent.json")))
	if len(f.queue.sent) != 1 {
		t.Errorf("%d messages, want no second one without a mark", len(f.queue.sent))
	}
}

func TestAMessageIsSentWhenTheMarkWasWrittenAfterTheHandlerStoppedWaiting(t *testing.T) {
	at(t, 1, func(h *hall) {
		e, purchase := h.environment(false), event(h.t, "purchase-idempotent.json")
		if a := h.buy(e, purchase); a.status != 202 {
			t.Fatalf("got %+v", a)
		}
		h.queue.sent = 0 // lost
		time.Sleep(31 * time.Second)
		h.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "UpdateItem" && strings.HasPrefix(c.Keys[0], "CLAIM#") {
				return dynamotest.Fault{ReplyDelay: 400 * time.Millisecond}
			}
			return dynamotest.Fault{}
		}
		if a := h.buy(e, purchase); a.status != 202 || h.queue.sent != 1 {
			t.Errorf("%+v and %d messages; reconcile would not send one until the mark is old", a, h.queue.sent)
		}
	})
}

func TestMarkingAClaimDelaysTheAnswerByThreeTenthsOfASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFunction(t)
		f.invoke(t, t.Context(), event(t, "purchase-idempotent.json"))
		f.now = f.now.Add(time.Minute)
		isAccepted(t, f.invoke(t, t.Context(), event(t, "purchase-idempotent.json")))
		if within := time.Until(f.marking); within != 300*time.Millisecond || len(f.queue.sent) != 2 {
			t.Errorf("marked within %v, sent %v", within, f.queue.sent)
		}
	})
}

func TestTheTriesEndHalfASecondBeforeTheDeadline(t *testing.T) {
	f := newFunction(t)
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	isAccepted(t, f.invoke(t, ctx, event(t, "purchase.json")))
	if want := deadline.Add(-invocation.Margin); !f.deadline.Equal(want) || !f.queue.deadline.Equal(want) {
		t.Errorf("the ledger had until %s and the queue until %s, want %s", f.deadline, f.queue.deadline, want)
	}
}

func TestAClaimMadeInTheLastMomentIsSentInsideTheMargin(t *testing.T) {
	f := newFunction(t)
	deadline := time.Now().Add(invocation.Margin)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	isAccepted(t, f.invoke(t, ctx, event(t, "purchase.json")))
	if len(f.queue.sent) != 1 || f.queue.over != nil {
		t.Fatalf("%d messages sent, context %v; want one on a live context", len(f.queue.sent), f.queue.over)
	}
	if f.queue.deadline.IsZero() || time.Until(f.queue.deadline) > sendTime {
		t.Errorf("the send may last until %s, want at most %s", f.queue.deadline, sendTime)
	}
}
