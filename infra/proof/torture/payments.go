package main

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
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
	if b.paymentPlan == nil || b.paymentPlan.done || !s.answers.holds(b.name) {
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
	done := make([]bool, len(b.paymentPlan.payments))
	var all sync.WaitGroup
	for i, p := range b.paymentPlan.payments {
		p.OrderID = order
		done[i] = true
		for range p.reports {
			all.Go(func() {
				if !s.report(ctx, c, b.name, p) {
					s.answers.mu.Lock()
					defer s.answers.mu.Unlock()
					done[i] = false
				}
			})
		}
	}
	all.Wait()
	b.paymentPlan.done = true
	for _, ok := range done {
		b.paymentPlan.done = b.paymentPlan.done && ok
	}
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
			e.answers.paid(user, p.provider+"#"+p.PaymentID, outcome)
			return true
		case err == nil && !unknown(a):
			e.answers.problem("the payment %s of %s got %s (P24)", p.PaymentID, user, a)
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
			s.answers.ended(b.name, a.Claim.State)
			return true
		case err == nil && !unknown(a):
			s.answers.problem("%s cancelled and got %s", b.name, a)
			return true
		}
		if !pause(ctx, wait(a, try)) {
			return false
		}
	}
}

// told is the answer to a payment.
type told struct{ user, outcome string }

// paid notes the answer to a payment; its repetition must get the same one.
func (h *history) paid(user, payment, outcome string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before, again := h.payments[payment]; again && before.outcome != outcome {
		h.note("the payment %s of %s was %q and later %q (P24)", payment, user, before.outcome, outcome)
	}
	h.payments[payment] = told{user, outcome}
}

// ended notes that a buyer was shown an order in a final state; other states are ignored.
func (h *history) ended(user, state string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if state == "PENDING" || state == "CONFIRMED" {
		return
	}
	if before := h.ends[user]; before != "" && before != state {
		h.note("the order of %s was %s and later %s (P20)", user, before, state)
	}
	h.ends[user] = state
}

// auditPayments compares the answers to payments and cancellations with the stored sale, in
// which no order is waiting to be paid any more.
func (e *testSale) auditPayments(s *books.Sale, problem func(string, ...any)) {
	e.answers.mu.Lock()
	defer e.answers.mu.Unlock()
	claims, paid := map[string]books.Claim{}, int64(0)
	for _, c := range s.Claims {
		claims[c.User] = c
		switch c.State() {
		case "PAID":
			paid++
			if e.answers.payments[c.Payment()].user != c.User {
				problem("the order of %s is paid by %q, which is no payment of it (P25)", c.User, c.Payment())
			}
		case "CONFIRMED":
			problem("the order of %s is neither paid nor released (P22)", c.User)
		}
	}
	for payment, t := range e.answers.payments {
		c := claims[t.user]
		want := "paid"
		if reason, due := s.Refunds[payment]; due {
			want = "refund-due: " + reason
		}
		if t.outcome != want || (want == "paid") != (c.Payment() == payment) {
			problem("the payment %s of %s was %q, but is %q, and the order is %s by %q (P24)", payment, t.user, t.outcome, want, c.State(), c.Payment())
		}
	}
	for payment, reason := range s.Refunds {
		if _, made := e.answers.payments[payment]; !made {
			problem("a refund of %s is due (%s), a payment that nobody made (P24)", payment, reason)
		}
	}
	for user, state := range e.answers.ends {
		if is := claims[user].State(); is != state {
			problem("the order of %s was shown as %s, but is %s (P20)", user, state, is)
		}
	}
	if paid+s.Stock() != s.Seeded {
		problem("%d units are paid and %d are left, of %d: some are neither or both (P23)", paid, s.Stock(), s.Seeded)
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
