package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
)

const (
	// payWithin is how long a new sale leaves its buyers to pay, the least that one may.
	payWithin = time.Minute
	// releaseTime is how long after that an order should be released: ReleaseFunction runs
	// every minute.
	releaseTime = 2 * time.Minute
	// releasePoll separates the polls of a buyer who waits for that.
	releasePoll = 5 * time.Second
	// thinkTime is the most that a buyer thinks before paying or cancelling.
	thinkTime = 15 * time.Second
)

// Of nine accepted buyers six pay and one cancels. The other two do not pay in time; the
// last of them pays when the order has expired.
const fates, cancels, tooLate = 9, 6, 8

// Outcomes of payments and of orders that ask for one; a refund due also names its reason.
const (
	paid       client.Outcome = "paid"
	refundDue  client.Outcome = "refund-due: released"
	cancelled  client.Outcome = "cancelled"
	expired    client.Outcome = "expired"
	notSettled client.Outcome = "neither-in-time"
)

// payer reports a payment as its provider does.
type payer func(ctx context.Context, provider string, p webhook.Payment) (client.Answer, error)

// localPayer signs with the local stack's secrets.
func localPayer(c *client.Client) payer {
	return func(ctx context.Context, provider string, p webhook.Payment) (client.Answer, error) {
		ctx, cancel := context.WithTimeout(ctx, sendLimit+time.Minute/2)
		defer cancel()
		r, err := p.Request(ctx, c.API, provider, webhook.LocalSecrets[provider], time.Now())
		if err != nil {
			return client.Answer{}, err
		}
		return c.Do(r)
	}
}

// settle does what a buyer does with an order that is to be paid, and counts what became of it.
func (r *rush) settle(ctx context.Context, i int, order string) {
	confirmedAt := time.Now()
	fate := i % fates
	thought := confirmedAt.Add(thinkTime * time.Duration(i%100) / 100)
	switch {
	case fate < cancels:
		r.settled(i, r.pay(ctx, i, order, thought), paid)
	case fate == cancels:
		r.settled(i, r.until(ctx, thought, unsaidWait, func(ctx context.Context) (client.Answer, error) {
			return r.client.Cancel(ctx, r.sale, r.tokens[i])
		}, func(a client.Answer) (client.Outcome, bool) {
			return cancelled, a.Status == http.StatusOK && a.Claim.State == "CANCELLED"
		}), cancelled)
	default:
		r.hurry(ctx, i)
		r.settled(i, r.until(ctx, confirmedAt.Add(payWithin), releasePoll, func(ctx context.Context) (client.Answer, error) {
			if r.release != nil {
				_ = r.release(ctx) // if it fails, the next poll repeats it
			}
			return r.client.Mine(ctx, r.sale, r.tokens[i])
		}, func(a client.Answer) (client.Outcome, bool) {
			return expired, a.Status == http.StatusOK && a.Claim.State == "EXPIRED"
		}), expired)
		if fate == tooLate {
			r.settled(i, r.pay(ctx, i, order, time.Now()), refundDue)
		}
	}
}

// hurry has orders released while this one is not due yet, and looks whether it was.
func (r *rush) hurry(ctx context.Context, i int) {
	if r.release == nil {
		return
	}
	_ = r.release(ctx)
	if a, err := r.client.Mine(ctx, r.sale, r.tokens[i]); err == nil && a.Claim.State == "EXPIRED" {
		r.history.Report("P21", "the order of %s was released before it was due", userName(i))
	}
}

// settled counts an outcome. Within the time that a run has, it is what was expected (P20 to
// P24); if it is late the system is only slow.
func (r *rush) settled(i int, o, want client.Outcome) {
	r.tally.settled(o)
	switch o {
	case cancelled:
		r.history.Ended(userName(i), "CANCELLED")
	case expired:
		r.history.Ended(userName(i), "EXPIRED")
	}
	if o != want && (o != notSettled || r.insists) {
		r.history.Report("P24", "the order or payment of %s is %s, want %s", userName(i), o, want)
	}
}

// pay reports the payment until its provider is told what became of it.
func (r *rush) pay(ctx context.Context, i int, order string, due time.Time) client.Outcome {
	provider := webhook.Providers[i%len(webhook.Providers)]
	reference := "load-" + strconv.Itoa(i) + "-" + order
	o := r.until(ctx, due, unsaidWait, func(ctx context.Context) (client.Answer, error) {
		return r.payer(ctx, provider, webhook.Payment{
			SaleID: r.sale, OrderID: order, PaymentID: reference, Amount: client.Price, Currency: client.Currency,
		})
	}, func(a client.Answer) (client.Outcome, bool) {
		told, ok := webhook.Outcome(a.Status, a.Body)
		return client.Outcome(told), ok
	})
	if o != notSettled {
		r.tally.reported(time.Since(due))
		r.history.Paid(userName(i), provider+"#"+reference, string(o))
	}
	return o
}

// until repeats a request from its intended time on until the answer says what became of the
// order, or ctx ends.
func (r *rush) until(ctx context.Context, due time.Time, pause time.Duration, call func(context.Context) (client.Answer, error), read func(client.Answer) (client.Outcome, bool)) client.Outcome {
	for waitUntil(ctx, due) {
		a, sent, err := r.attempt(ctx, due, call)
		if sent && err == nil {
			if o, ok := read(a); ok {
				return o
			}
		}
		due = time.Now().Add(max(pause, min(a.RetryAfter, maxWait)))
	}
	return notSettled
}
