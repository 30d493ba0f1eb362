package load

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/rush"
)

const (
	// payWithin is how long a new sale leaves its buyers to pay, the least that one may.
	payWithin = time.Minute
	// releasePoll separates the polls of a buyer who waits for that.
	releasePoll = 5 * time.Second
	// retryWait separates the tries of another request.
	retryWait = time.Second
	// webhookTime bounds a report of a payment.
	webhookTime = 35 * time.Second
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
		ctx, cancel := context.WithTimeout(ctx, webhookTime)
		defer cancel()
		r, err := p.Request(ctx, c.API, provider, webhook.LocalSecrets[provider], time.Now())
		if err != nil {
			return client.Answer{}, err
		}
		return c.Do(r)
	}
}

// settle does what a buyer does with an order that is to be paid, and counts what became of it.
func (b *buyers) settle(ctx context.Context, i int, order string) {
	confirmedAt := time.Now()
	fate := i % fates
	thought := confirmedAt.Add(thinkTime * time.Duration(i%100) / 100)
	switch {
	case fate < cancels:
		b.settled(i, b.pay(ctx, i, order, thought), paid)
	case fate == cancels:
		b.settled(i, b.until(ctx, thought, retryWait, func(ctx context.Context) (client.Answer, error) {
			return b.api.Cancel(ctx, b.SaleID, b.Crowd[i].Token)
		}, func(a client.Answer) (client.Outcome, bool) {
			return cancelled, a.Status == http.StatusOK && a.Claim.State == "CANCELLED"
		}), cancelled)
	default:
		b.hurry(ctx, i)
		b.settled(i, b.until(ctx, confirmedAt.Add(payWithin), releasePoll, func(ctx context.Context) (client.Answer, error) {
			_ = b.release(ctx) // if it fails, the next poll repeats it
			return b.api.Mine(ctx, b.SaleID, b.Crowd[i].Token)
		}, func(a client.Answer) (client.Outcome, bool) {
			return expired, a.Status == http.StatusOK && a.Claim.State == "EXPIRED"
		}), expired)
		if fate == tooLate {
			b.settled(i, b.pay(ctx, i, order, time.Now()), refundDue)
		}
	}
}

// hurry has orders released while this one is not due yet, and looks whether it was.
func (b *buyers) hurry(ctx context.Context, i int) {
	_ = b.release(ctx)
	if a, err := b.api.Mine(ctx, b.SaleID, b.Crowd[i].Token); err == nil && a.Claim.State == "EXPIRED" {
		b.History.Report("P21", "the order of %s was released before it was due", b.Crowd[i].User)
	}
}

// settled counts an outcome. Within the time that a run has, it is what was expected (P20 to
// P24); if it is late the system is only slow.
func (b *buyers) settled(i int, o, want client.Outcome) {
	b.tally.settled(o)
	switch o {
	case cancelled:
		b.History.Ended(b.Crowd[i].User, "CANCELLED")
	case expired:
		b.History.Ended(b.Crowd[i].User, "EXPIRED")
	}
	if o != want && (o != notSettled || b.Insists) {
		b.History.Report("P24", "the order or payment of %s is %s, want %s", b.Crowd[i].User, o, want)
	}
}

// pay reports the payment until its provider is told what became of it.
func (b *buyers) pay(ctx context.Context, i int, order string, due time.Time) client.Outcome {
	provider := webhook.Told[i%len(webhook.Told)]
	reference := "load-" + strconv.Itoa(i) + "-" + order
	o := b.until(ctx, due, retryWait, func(ctx context.Context) (client.Answer, error) {
		return b.payer(ctx, provider, webhook.Payment{
			SaleID: b.SaleID, OrderID: order, PaymentID: reference, Amount: client.Price, Currency: client.Currency,
		})
	}, func(a client.Answer) (client.Outcome, bool) {
		told, ok := webhook.Outcome(a.Status, a.Body)
		return client.Outcome(told), ok
	})
	if o != notSettled {
		b.History.Paid(b.Crowd[i].User, provider+"#"+reference, string(o))
	}
	return o
}

// until repeats a request from its intended time on until the answer says what became of the
// order, or ctx ends.
func (b *buyers) until(ctx context.Context, due time.Time, pause time.Duration, call func(context.Context) (client.Answer, error), read func(client.Answer) (client.Outcome, bool)) client.Outcome {
	for rush.WaitUntil(ctx, due) {
		a, sent, err := b.Send(ctx, due, call)
		if !sent.IsZero() && err == nil {
			if o, ok := read(a); ok {
				return o
			}
		}
		due = time.Now().Add(max(pause, a.RetryAfter))
	}
	return notSettled
}
