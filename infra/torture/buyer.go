package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"flashsale/infra/client"
)

// buyer is an honest client: it repeats the same request until it has an
// answer.
type buyer struct {
	name    string
	key     string // "" for one who sends no Idempotency-Key
	clicks  int    // at the same time, 1 to 3
	arrives time.Duration
	curious bool          // asks for its order some time after
	again   time.Duration // how long it waits after "sold out"
	token   string
}

// shop goes through a buyer's sale until its stop, or until the buyer has a
// claim; ctx bounds how long an answer may take beyond that.
func (b *buyer) shop(ctx context.Context, c *client.Client, s *event, stop time.Time) {
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
	if b.curious && pause(ctx, b.again) {
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

// click orders, as many times at once as this buyer clicks, and returns
// whether the buyer has a claim.
func (b *buyer) click(ctx context.Context, c *client.Client, s *event) bool {
	var all sync.WaitGroup
	for i := range b.clicks {
		all.Go(func() {
			// Nobody's fingers are that fast.
			if pause(ctx, time.Duration(i)*3*time.Millisecond) {
				b.order(ctx, c, s)
			}
		})
	}
	all.Wait()
	return s.told.holds(b.name)
}

func (b *buyer) order(ctx context.Context, c *client.Client, s *event) {
	for try := 0; ; try++ {
		from := time.Now()
		r, err := c.Buy(ctx, s.id, b.token, b.key)
		switch {
		case err != nil || unknown(r):
			if !pause(ctx, wait(r, try)) {
				s.unanswered(b.name)
				return
			}
			continue
		case r.Code == "already-ordered" && b.key != "":
			s.told.problem("%s repeated its own key and was answered %s (P9)", b.name, r)
		case r.Status == http.StatusAccepted || r.Code == "already-ordered":
			s.told.accepted(b.name, s.id, r.Claim)
		case r.Code == "sold-out":
			s.told.refused(refusal{user: b.name, keyed: b.key != "", span: span{from, time.Now()}})
			if b.key == "" {
				// The refusal of a stranger: whether an earlier try got a
				// unit, only the status knows.
				b.ask(ctx, c, s)
			}
		default:
			s.told.problem("%s was answered %s", b.name, r)
		}
		return
	}
}

// ask reads the buyer's own claim.
func (b *buyer) ask(ctx context.Context, c *client.Client, s *event) {
	for try := 0; ; try++ {
		held := s.told.holds(b.name)
		r, err := c.Mine(ctx, s.id, b.token)
		switch {
		case err != nil || unknown(r):
			if !pause(ctx, wait(r, try)) {
				s.unanswered(b.name)
				return
			}
			continue
		case r.Status == http.StatusOK:
			s.told.accepted(b.name, s.id, r.Claim)
		case r.Code != "order-not-found":
			s.told.problem("%s asked for its order and was answered %s", b.name, r)
		case held:
			s.told.problem("%s was accepted and then told that it has no order (P4)", b.name)
		}
		return
	}
}

// unknown tells that the answer leaves open what happened, or that nothing
// has happened yet: the same request may be repeated.
func unknown(r client.Answer) bool {
	return r.Status >= 500 || r.Status == http.StatusTooManyRequests
}

// wait is the pause before the same request is made again: what the answer
// says, or a growing one, and never long, so that many tries meet a kill.
func wait(r client.Answer, try int) time.Duration {
	if r.RetryAfter > 0 {
		return min(r.RetryAfter, time.Second)
	}
	return time.Duration(min(20<<min(try, 5), 400)) * time.Millisecond
}
