package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/verdict"
)

const (
	// maxTries bounds the requests of one click, and of one wait for an order id.
	maxTries = 200
	// Bounds of a client's wait for a Retry-After.
	minWait = 50 * time.Millisecond
	maxWait = 30 * time.Second
	// unsaidWait is the wait after an answer without a Retry-After and after a failure.
	unsaidWait = time.Second
	// sendLimit is how late a request may be sent. A later one is not sent but reported:
	// the generator is too slow.
	sendLimit = 5 * time.Second
)

// Outcomes that the generator adds to those of an answer.
const (
	// acceptedAgain is a repeat with the same Idempotency-Key (P9).
	acceptedAgain client.Outcome = "accepted-again"
	noAnswer      client.Outcome = "no-answer"
	notSent       client.Outcome = "not-sent-in-time"
)

// api is the part of the client that a buyer uses.
type api interface {
	Buy(ctx context.Context, saleID, token, key string) (client.Answer, error)
	Mine(ctx context.Context, saleID, token string) (client.Answer, error)
	Cancel(ctx context.Context, saleID, token string) (client.Answer, error)
}

// rush is one run of a schedule.
type rush struct {
	client   api
	sale     string
	visits   []visit
	tokens   []string // by visit
	inflight int
	patience time.Duration
	payer    payer // nil: the sale asks for no payment
	// insists: a buyer who gets no answer or never sees the order confirmed is a finding, because
	// the system is not overloaded.
	insists bool
	// release runs ReleaseFunction; nil: its schedule does.
	release func(context.Context) error
	tally   *tally
	history *verdict.History
	slots   chan struct{}
	start   time.Time
}

// run starts each visit at its time, waits until all are done or ctx ends, and calls done
// after each buyer, concurrently.
func (r *rush) run(ctx context.Context, start time.Time, done func()) {
	r.slots, r.start = make(chan struct{}, r.inflight), start
	var wg sync.WaitGroup
	for i, v := range r.visits {
		if !waitUntil(ctx, start.Add(v.at)) {
			// Visits that were not tried are counted, too.
			for _, missed := range r.visits[i:] {
				if r.insists {
					r.history.Unanswered(userName(missed.user), notSent)
				}
				for range missed.clicks {
					r.tally.answered(notSent, time.Since(start))
					r.tally.first(missed.kind, notSent, missed.at, time.Since(start.Add(missed.at)))
				}
			}
			break
		}
		wg.Go(func() {
			r.visit(ctx, i)
			done()
		})
	}
	wg.Wait()
}

// visit performs all requests of one buyer.
func (r *rush) visit(whole context.Context, i int) {
	v := r.visits[i]
	intended := r.start.Add(v.at)
	ctx, cancel := context.WithDeadline(whole, intended.Add(r.patience))
	defer cancel()
	last := make([]clicked, v.clicks)
	var clicks sync.WaitGroup
	for n := range v.clicks {
		clicks.Go(func() { last[n] = r.click(ctx, v, intended) })
	}
	clicks.Wait()
	for _, c := range last {
		if c.told || c.tries > 1 {
			if order := r.follow(ctx, v.user, intended, c.wait); order != "" && r.payer != nil {
				r.settle(whole, v.user, order)
			}
			return
		}
	}
}

// attempt makes one request at its intended time. It waits for a free slot, and that wait
// counts. sent is false if the wait took too long.
func (r *rush) attempt(ctx context.Context, intended time.Time, call func(context.Context) (client.Answer, error)) (answer client.Answer, sent bool, err error) {
	patience := time.NewTimer(time.Until(intended.Add(sendLimit)))
	defer patience.Stop()
	select {
	case r.slots <- struct{}{}:
	default:
		select {
		case r.slots <- struct{}{}:
		case <-patience.C:
			return answer, false, nil
		case <-ctx.Done():
			return answer, false, ctx.Err()
		}
	}
	defer func() { <-r.slots }()
	r.tally.queued(intended.Sub(r.start), time.Since(intended))
	answer, err = call(ctx)
	return answer, true, err
}

// clicked is what a buyer knows after a click. If the answer to a try was lost, only the status
// resource shows what became of it.
type clicked struct {
	told  bool // of a claim
	tries int
	wait  time.Duration // Retry-After
}

// click repeats the request until there is a final answer.
func (r *rush) click(ctx context.Context, v visit, intended time.Time) clicked {
	var last string
	due := intended
	for try := range maxTries {
		a, sent, err := r.attempt(ctx, due, func(ctx context.Context) (client.Answer, error) {
			return r.client.Buy(ctx, r.sale, r.tokens[v.user], v.key)
		})
		o, final := noAnswer, false
		switch {
		case !sent:
			o = notSent
		case err == nil:
			o, final = client.JudgePurchase(r.sale, a)
			final = final || o == client.Failed
			if final && r.history.Clicked(userName(v.user), v.key != "", verdict.Span{From: due, Until: time.Now()}, o, a) {
				o = acceptedAgain
			}
		}
		now := time.Now()
		took := now.Sub(intended)
		r.tally.answered(o, now.Sub(r.start))
		if try == 0 {
			r.tally.first(v.kind, o, v.at, took)
		}
		if final {
			r.tally.final(o, took)
			return clicked{o == client.Accepted || o == acceptedAgain || o == client.AlreadyOrdered, try + 1, wait(a.RetryAfter)}
		}
		last = fmt.Sprintf("%s after %d tries", o, try+1)
		due = now.Add(wait(a.RetryAfter))
		if !sent || err != nil {
			due = now.Add(unsaidWait)
		}
		if !waitUntil(ctx, due) {
			break
		}
	}
	r.tally.gaveUp()
	if r.insists {
		r.history.Unanswered(userName(v.user), last)
	}
	return clicked{tries: maxTries, wait: unsaidWait}
}

// follow polls at the server's Retry-After until the order has its id, and returns it.
func (r *rush) follow(ctx context.Context, i int, intended time.Time, pause time.Duration) (order string) {
	due := time.Now().Add(pause)
	for range maxTries {
		if !waitUntil(ctx, due) {
			break
		}
		a, sent, err := r.attempt(ctx, due, func(ctx context.Context) (client.Answer, error) {
			return r.client.Mine(ctx, r.sale, r.tokens[i])
		})
		now := time.Now()
		o, final := noAnswer, false
		switch {
		case !sent:
			o = notSent
		case err == nil:
			o, final = client.JudgePoll(r.sale, a)
			final = final || o == client.Failed
			r.history.Asked(userName(i), verdict.Span{From: due, Until: now}, o, a)
		}
		r.tally.polled(o, now.Sub(due))
		if o == client.Confirmed {
			r.tally.confirmed(now.Sub(r.start), now.Sub(intended))
		}
		if final {
			if r.insists && o != client.Confirmed && r.history.Holds(userName(i)) {
				r.history.Report("P8", "%s did not see the order confirmed: %s", userName(i), a)
			}
			return a.Claim.OrderID
		}
		due = now.Add(wait(a.RetryAfter))
		if !sent || err != nil {
			due = now.Add(unsaidWait)
		}
	}
	r.tally.unconfirmed()
	if r.insists {
		r.history.Report("P8", "%s did not see the order confirmed", userName(i))
	}
	return ""
}

// wait clamps the server's Retry-After.
func wait(told time.Duration) time.Duration {
	if told < 0 {
		return unsaidWait
	}
	return min(max(told, minWait), maxWait)
}

// waitUntil returns false if ctx ends first.
func waitUntil(ctx context.Context, at time.Time) bool {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
