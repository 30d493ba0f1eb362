package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
)

const (
	// payWithin is the least that a sale may leave its buyers. Orders expire sooner here: see
	// package ahead.
	payWithin = time.Minute
	price     = 149900
	currency  = "CNY"
	// Pauses between runs of ReleaseFunction, and at most between a buyer's looks at an order.
	releasePause, lookPause = 500 * time.Millisecond, time.Second
)

// paymentPlan is what a buyer does with an order of a sale that asks for payment.
type paymentPlan struct {
	cancels  bool
	late     bool // pays when the order has expired
	payments []payment
	done     bool
}

// payment is one payment; its provider reports it that many times at once.
type payment struct {
	provider string
	webhook.Payment
	reports int
}

// newPaymentPlan chooses: of ten buyers seven pay, one of them twice and another a wrong amount
// first; one cancels; one pays too late; one does nothing.
func newPaymentPlan(chance *rand.Rand, saleID, user string) *paymentPlan {
	b := &paymentPlan{}
	pay := func(reference string, amount int64) {
		b.payments = append(b.payments, payment{
			provider: webhook.Providers[chance.IntN(len(webhook.Providers))], reports: 1 + chance.IntN(3),
			Payment: webhook.Payment{SaleID: saleID, PaymentID: reference + "-of-" + user + "-in-" + saleID, Amount: amount, Currency: currency},
		})
	}
	switch roll := chance.IntN(10); {
	case roll == 0:
		b.cancels = true
	case roll == 1:
	default:
		b.late = roll == 2
		if roll == 3 {
			pay("too-little", price-1)
		}
		if pay("first", price); roll == 4 {
			pay("second", price)
		}
	}
	return b
}

// payOrCancel carries out the payment plan until ctx ends; if it is not done then, the next call
// goes on.
func (b *buyer) payOrCancel(ctx context.Context, c *client.Client, s *testSale) bool {
	if b.paymentPlan == nil || b.paymentPlan.done || !s.answers.Holds(b.name) {
		return true
	}
	order := ""
	for try := 0; order == "" || b.paymentPlan.late; try++ {
		a, err := c.Mine(ctx, s.id, b.token)
		if err == nil && a.Claim.OrderID != "" {
			if order = a.Claim.OrderID; !b.paymentPlan.late || a.Claim.State != "CONFIRMED" {
				break
			}
		}
		if !pause(ctx, min(lookPause, wait(client.Answer{}, try)*3)) {
			return false
		}
	}
	if b.paymentPlan.cancels {
		b.paymentPlan.done = b.cancel(ctx, c, s)
		return b.paymentPlan.done
	}
	var unfinished atomic.Bool
	var all sync.WaitGroup
	for _, p := range b.paymentPlan.payments {
		p.OrderID = order
		for range p.reports {
			all.Go(func() {
				if !s.report(ctx, c, b.name, p) {
					unfinished.Store(true)
				}
			})
		}
	}
	all.Wait()
	b.paymentPlan.done = !unfinished.Load()
	return b.paymentPlan.done
}

// report sends the webhook of a payment until it is answered, as its provider does.
func (e *testSale) report(ctx context.Context, c *client.Client, user string, p payment) (done bool) {
	for try := 0; ; try++ {
		a, err := func() (client.Answer, error) {
			ctx, cancel := context.WithTimeout(ctx, callTime)
			defer cancel()
			r, err := p.Request(ctx, c.API, p.provider, webhook.LocalSecrets[p.provider], time.Now())
			if err != nil {
				return client.Answer{}, err
			}
			return c.Do(r)
		}()
		switch outcome, ok := webhook.Outcome(a.Status, a.Body); {
		case err == nil && ok:
			e.answers.Paid(user, p.provider+"#"+p.PaymentID, outcome)
			return true
		case err == nil && !unknown(a):
			e.answers.Report("P24", "the payment %s of %s got %s", p.PaymentID, user, a)
			return true
		}
		if !pause(ctx, wait(a, try)) {
			return false
		}
	}
}

// cancel gives the order up.
func (b *buyer) cancel(ctx context.Context, c *client.Client, s *testSale) (done bool) {
	for try := 0; ; try++ {
		a, err := c.Cancel(ctx, s.id, b.token)
		switch {
		case err == nil && a.Status == http.StatusOK && a.Claim.State == "CANCELLED", err == nil && a.Code == "order-expired":
			s.answers.Ended(b.name, a.Claim.State)
			return true
		case err == nil && !unknown(a):
			s.answers.Report("P20", "%s cancelled and got %s", b.name, a)
			return true
		}
		if !pause(ctx, wait(a, try)) {
			return false
		}
	}
}

// releases runs ReleaseFunction again and again until ctx ends.
func (r *round) releases(ctx context.Context) {
	for pause(ctx, releasePause) {
		_ = r.client.Ask(ctx, client.ReleaseFunction, struct{}{}, nil)
	}
}

// awaitsPayment reports whether an order of the sale may still be paid, or a released unit is
// not back in stock.
func (e *testSale) awaitsPayment(ctx context.Context, all *books.Books) bool {
	if !e.asksForPayment {
		return false
	}
	receipt, err := all.Recount(ctx, e.id, books.Options{})
	return err != nil || receipt.Unpaid > 0 || len(receipt.Unfinished) > 0
}
