package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/verdict"
)

// buyer is a well-behaved client: it repeats the same request until it has an answer.
type buyer struct {
	name        string
	key         string // Idempotency-Key; "" to send none
	clicks      int    // concurrent clicks, 1 to 3
	arrives     time.Duration
	readsOrder  bool          // reads its order some time later
	again       time.Duration // how long it waits after "sold out"
	token       string
	paymentPlan *paymentPlan // nil if the sale asks for no payment
}

// run clicks until stop or until the buyer has a claim; ctx bounds how much longer an
// answer may take.
func (b *buyer) run(ctx context.Context, c *client.Client, s *testSale, stop time.Time) {
	if !pause(ctx, b.arrives) || !b.login(ctx, c) {
		return
	}
	for {
		if b.click(ctx, c, s) {
			break
		}
		if time.Now().Add(b.again).After(stop) || !pause(ctx, b.again) {
			return
		}
	}
	paying, cancel := context.WithDeadline(ctx, stop)
	defer cancel()
	b.payOrCancel(paying, c, s)
	if b.readsOrder && pause(ctx, b.again) {
		b.ask(ctx, c, s)
	}
}

func (b *buyer) login(ctx context.Context, c *client.Client) (ok bool) {
	for b.token == "" {
		var err error
		if b.token, err = c.Token(ctx, b.name); err == nil {
			return true
		}
		if !pause(ctx, 100*time.Millisecond) {
			return false
		}
	}
	return true
}

// click sends the buyer's concurrent orders and reports whether the buyer has a claim.
func (b *buyer) click(ctx context.Context, c *client.Client, s *testSale) bool {
	var all sync.WaitGroup
	for i := range b.clicks {
		all.Go(func() {
			// Clicks by hand are some milliseconds apart.
			if pause(ctx, time.Duration(i)*3*time.Millisecond) {
				b.order(ctx, c, s)
			}
		})
	}
	all.Wait()
	return s.answers.Holds(b.name)
}

func (b *buyer) order(ctx context.Context, c *client.Client, s *testSale) {
	for try := 0; ; try++ {
		from := time.Now()
		r, err := c.Buy(ctx, s.id, b.token, b.key)
		if err != nil || unknown(r) {
			if !pause(ctx, wait(r, try)) {
				s.unanswered(b.name)
				return
			}
			continue
		}
		o, _ := client.JudgePurchase(s.id, r)
		s.answers.Clicked(b.name, b.key != "", verdict.Span{From: from, Until: time.Now()}, o, r)
		if o == client.SoldOut && b.key == "" {
			// A refusal of a request that is not recognised as a repeat: only the status
			// resource shows whether an earlier try got a unit.
			b.ask(ctx, c, s)
		}
		return
	}
}

// ask reads the buyer's own claim.
func (b *buyer) ask(ctx context.Context, c *client.Client, s *testSale) {
	for try := 0; ; try++ {
		from := time.Now()
		r, err := c.Mine(ctx, s.id, b.token)
		if err != nil || unknown(r) {
			if !pause(ctx, wait(r, try)) {
				s.unanswered(b.name)
				return
			}
			continue
		}
		o, _ := client.JudgePoll(s.id, r)
		s.answers.Asked(b.name, verdict.Span{From: from, Until: time.Now()}, o, r)
		return
	}
}

// unknown reports whether the result of a request is unknown or the request was not yet
// processed, so that it may be repeated.
func unknown(r client.Answer) bool {
	return r.Status >= 500 || r.Status == http.StatusTooManyRequests
}

// wait returns the pause before a retry: the Retry-After, or one that grows with each try.
// It is always short, so that many tries run into a kill.
func wait(r client.Answer, try int) time.Duration {
	if r.RetryAfter > 0 {
		return min(r.RetryAfter, time.Second)
	}
	return time.Duration(min(20<<min(try, 5), 400)) * time.Millisecond
}
