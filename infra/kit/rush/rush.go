// Package rush is an open loop of buyers: each comes at a time that was chosen before, whatever
// happens to earlier ones, clicks a few times at once, repeats what got no final answer, and waits
// for the order id. Package verdict judges the answers.
package rush

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// Outcomes that a rush adds to those of an answer.
const (
	// AcceptedAgain is a repeat with the same Idempotency-Key (P9).
	AcceptedAgain client.Outcome = "accepted-again"
	NoAnswer      client.Outcome = "no-answer"
	NotSent       client.Outcome = "not-sent-in-time"
)

// Buyer is one member of the crowd. All clicks of one buyer carry the same key.
type Buyer struct {
	User   string
	Token  string
	Key    string        // Idempotency-Key; "" to send none
	At     time.Duration // when they click, from the start
	Clicks int
	Units  int64 // that each click asks for; 0 is one
}

// Plan makes a crowd that comes at once: each buyer has 1 to clicks clicks, and about half of the
// buyers have an Idempotency-Key. The same seed makes the same crowd.
func Plan(seed uint64, buyers, clicks int) []Buyer {
	r := rand.New(rand.NewPCG(seed, 0))
	crowd := make([]Buyer, buyers)
	for i := range crowd {
		crowd[i] = Buyer{User: fmt.Sprintf("buyer-%05d", i+1), Clicks: 1 + r.IntN(clicks)}
		if r.IntN(2) == 0 {
			crowd[i].Key = fmt.Sprintf("key-%016x", r.Uint64())
		}
	}
	r.Shuffle(len(crowd), func(i, j int) { crowd[i], crowd[j] = crowd[j], crowd[i] })
	return crowd
}

// TotalClicks returns the number of clicks of a crowd.
func TotalClicks(crowd []Buyer) int {
	n := 0
	for _, b := range crowd {
		n += b.Clicks
	}
	return n
}

// API is the part of the client that a buyer uses.
type API interface {
	BuyUnits(ctx context.Context, saleID, token, key string, units int64) (client.Answer, error)
	Mine(ctx context.Context, saleID, token string) (client.Answer, error)
}

// Rush is a crowd in one sale.
type Rush struct {
	API      API
	SaleID   string
	Crowd    []Buyer
	InFlight int           // requests at a time, at most
	Patience time.Duration // of each buyer for final answers, from the intended time on; 0: that of ctx
	// Whole: nothing of the system is killed, so a failure that API Gateway answers is final, and a finding.
	Whole bool
	// Insists: a buyer who gets no answer or never sees the order confirmed is a finding, because
	// the system is not overloaded.
	Insists bool
	History *verdict.History // nil: nobody judges the answers
	// Seen is called after each try and when a buyer gives up, concurrently; it may be nil.
	Seen func(Try)
	// Then is what a buyer does who was told of a claim, or whose first answer was lost; nil: such
	// buyers wait for Follow.
	Then func(ctx context.Context, i int)

	Start time.Time // set by Run
	slots chan struct{}
	mu    sync.Mutex
	asks  map[int]time.Duration // who asks for the order, and the wait before that
}

// Try is what became of one request of a buyer.
type Try struct {
	Buyer  int  // index into the crowd
	Poll   bool // for the order, and not a click
	N      int  // earlier tries of the same click or poll
	GaveUp bool // nothing was tried: the last try was not final, and no other follows
	// Intended is when the buyer came, and Due when this try was due.
	Intended, Due  time.Time
	Sent, Answered time.Time // Sent is zero if it was not sent
	Outcome        client.Outcome
	Final          bool
	Answer         client.Answer
}

// Run lets each buyer come at their time, and calls done after each, concurrently. It ends when all
// have final answers or gave up. The requests in flight are bounded, and waiting for one delays
// nobody else.
func (r *Rush) Run(ctx context.Context, done func()) {
	r.slots, r.asks, r.Start = make(chan struct{}, r.InFlight), map[int]time.Duration{}, time.Now()
	if r.Seen == nil {
		r.Seen = func(Try) {}
	}
	var wg sync.WaitGroup
	for i, b := range r.Crowd {
		WaitUntil(ctx, r.Start.Add(b.At)) // without time left the others come, too, and get no answer
		wg.Go(func() {
			r.visit(ctx, i)
			done()
		})
	}
	wg.Wait()
}

// Follow lets the buyers who wait for it poll until each order is confirmed.
func (r *Rush) Follow(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range r.asks {
		wg.Go(func() { r.Poll(ctx, i) })
	}
	wg.Wait()
}

// patience ends when the buyer's does.
func (r *Rush) patience(ctx context.Context, i int) (context.Context, context.CancelFunc) {
	if r.Patience == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, r.Start.Add(r.Crowd[i].At+r.Patience))
}

// visit performs all requests of one buyer.
func (r *Rush) visit(whole context.Context, i int) {
	ctx, cancel := r.patience(whole, i)
	defer cancel()
	var clicks sync.WaitGroup
	for range r.Crowd[i].Clicks {
		clicks.Go(func() { r.click(ctx, i) })
	}
	clicks.Wait()
	r.mu.Lock()
	_, asks := r.asks[i]
	r.mu.Unlock()
	if asks && r.Then != nil {
		r.Then(whole, i)
	}
}

// Send makes one request that is due. It waits for a free slot, and that wait counts. sent is zero
// if the wait took too long.
func (r *Rush) Send(ctx context.Context, due time.Time, call func(context.Context) (client.Answer, error)) (answer client.Answer, sent time.Time, err error) {
	if ctx.Err() != nil {
		return answer, sent, ctx.Err()
	}
	late := time.NewTimer(time.Until(due.Add(sendLimit)))
	defer late.Stop()
	select {
	case r.slots <- struct{}{}:
	default:
		select {
		case r.slots <- struct{}{}:
		case <-late.C:
			return answer, sent, nil
		case <-ctx.Done():
			return answer, sent, ctx.Err()
		}
	}
	defer func() { <-r.slots }()
	sent = time.Now()
	answer, err = call(ctx)
	return answer, sent, err
}

// try makes one request. next is when the one after it is due.
func (r *Rush) try(ctx context.Context, t Try) (_ Try, next time.Time) {
	b, judge := r.Crowd[t.Buyer], client.JudgePurchase
	if t.Poll {
		judge = client.JudgePoll
	}
	var err error
	t.Answer, t.Sent, err = r.Send(ctx, t.Due, func(ctx context.Context) (client.Answer, error) {
		if t.Poll {
			return r.API.Mine(ctx, r.SaleID, b.Token)
		}
		return r.API.BuyUnits(ctx, r.SaleID, b.Token, b.Key, b.Units)
	})
	t.Answered = time.Now()
	answered := !t.Sent.IsZero() && err == nil
	switch {
	case answered:
		t.Outcome, t.Final = judge(r.SaleID, t.Answer)
		t.Final = t.Final || r.Whole && t.Outcome == client.Failed
	case t.Sent.IsZero():
		t.Outcome = NotSent
	default:
		t.Outcome = NoAnswer
	}
	next = t.Answered.Add(unsaidWait)
	if answered && t.Answer.RetryAfter >= 0 {
		next = t.Answered.Add(min(max(t.Answer.RetryAfter, minWait), maxWait))
	}
	if h := r.History; h != nil && answered {
		at := verdict.Span{From: t.Sent, Until: t.Answered}
		switch {
		case t.Outcome == client.Failed && !t.Final: // nobody knows what became of it
		case t.Poll:
			h.Asked(b.User, at, t.Outcome, t.Answer)
		case t.Final && h.Asks(b.User, max(1, b.Units), b.Key != "", at, t.Outcome, t.Answer):
			t.Outcome = AcceptedAgain
		}
	}
	r.Seen(t)
	return t, next
}

// click repeats the request until there is a final answer.
func (r *Rush) click(ctx context.Context, i int) {
	intended := r.Start.Add(r.Crowd[i].At)
	t, next := Try{Buyer: i, Intended: intended}, intended
	for t.N < maxTries && WaitUntil(ctx, next) || t.N == 0 {
		t.Due = next
		t, next = r.try(ctx, t)
		told := t.Outcome == client.Accepted || t.Outcome == AcceptedAgain || t.Outcome == client.AlreadyOrdered
		if told || t.N > 0 {
			r.mu.Lock()
			r.asks[i] = next.Sub(t.Answered)
			r.mu.Unlock()
		}
		if t.N++; t.Final {
			return
		}
	}
	r.Seen(Try{Buyer: i, GaveUp: true})
	if r.Insists {
		r.History.Unanswered(r.Crowd[i].User, fmt.Sprintf("%s after %d tries", t.Outcome, t.N))
	}
}

// Poll asks for a buyer's order until it has its id, and returns that.
func (r *Rush) Poll(ctx context.Context, i int) (order string) {
	ctx, cancel := r.patience(ctx, i)
	defer cancel()
	user := r.Crowd[i].User
	r.mu.Lock()
	next := time.Now().Add(r.asks[i])
	r.mu.Unlock()
	t := Try{Buyer: i, Poll: true, Intended: r.Start.Add(r.Crowd[i].At)}
	for ; t.N < maxTries && WaitUntil(ctx, next); t.N++ {
		t.Due = next
		t, next = r.try(ctx, t)
		if t.Final {
			if r.Insists && t.Outcome != client.Confirmed && r.History.Holds(user) {
				r.History.Report("P8", "%s did not see the order confirmed: %s", user, t.Answer)
			}
			return t.Answer.Claim.OrderID
		}
	}
	r.Seen(Try{Buyer: i, Poll: true, GaveUp: true})
	if r.Insists {
		r.History.Report("P8", "%s did not see the order confirmed", user)
	}
	return ""
}

// WaitUntil returns false if ctx ends first.
func WaitUntil(ctx context.Context, at time.Time) bool {
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
