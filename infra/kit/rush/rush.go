// Package rush is a crowd of buyers: each clicks a few times, repeats what got no final
// answer, and waits for the order id. The crowd's requests in flight are bounded. Package
// verdict judges the answers.
package rush

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"flashsale/infra/kit/client"
)

const (
	// maxTries bounds the repeats of one click.
	maxTries = 20
	// Bounds of a client's wait for a Retry-After.
	minWait = 50 * time.Millisecond
	maxWait = 5 * time.Second
	// unsaidWait is the wait after an answer without a Retry-After.
	unsaidWait = 500 * time.Millisecond
)

// Buyer is one member of the crowd. All clicks of one buyer carry the same key.
type Buyer struct {
	User   string
	Key    string        // Idempotency-Key; "" to send none
	At     time.Duration // when they click, from the start
	Clicks int
	Token  string
}

// Plan makes the crowd: each buyer has 1 to clicks clicks, and about half of the buyers have
// an Idempotency-Key. The same seed makes the same crowd.
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

// Result is the outcome of one click.
type Result struct {
	Buyer   int // index into the crowd
	Outcome client.Outcome
	// Final: the request need not be repeated.
	Final    bool
	Reply    client.Answer // the last reply
	Err      error         // of the last try, if it got no answer
	Tries    int
	Asked    time.Time // when the last request was sent
	Answered time.Time // when the last answer came
}

// API is the part of the client that a buyer uses.
type API interface {
	Buy(ctx context.Context, saleID, token, key string) (client.Answer, error)
	Mine(ctx context.Context, saleID, token string) (client.Answer, error)
}

// Run makes every click at its time: each has its own goroutine, and only the requests in
// flight are bounded, so that a buyer waiting for a Retry-After delays no one else. It ends
// when every click has its final answer or has been tried maxTries times, or when ctx is
// done. It calls answered with each click's result, concurrently.
func Run(ctx context.Context, a API, saleID string, crowd []Buyer, concurrency int, now func() time.Time, answered func(Result)) []Result {
	results := make([]Result, 0, TotalClicks(crowd))
	for i, b := range crowd {
		for range b.Clicks {
			results = append(results, Result{Buyer: i})
		}
	}
	slots, start := make(chan struct{}, concurrency), make(chan struct{})
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			<-start
			r := &results[i]
			r.click(ctx, a, saleID, crowd[r.Buyer], slots, now)
			answered(*r)
		})
	}
	close(start)
	wg.Wait()
	return results
}

// click repeats the request until there is a final answer.
func (r *Result) click(ctx context.Context, a API, saleID string, b Buyer, slots chan struct{}, now func() time.Time) {
	if b.At > 0 && !sleep(ctx, b.At) {
		r.Err = ctx.Err()
		return
	}
	for r.Tries < maxTries {
		if r.Err = enter(ctx, slots); r.Err != nil {
			return
		}
		r.Tries++
		r.Asked = now()
		r.Reply, r.Err = a.Buy(ctx, saleID, b.Token, b.Key)
		r.Answered = now()
		<-slots
		if r.Err == nil {
			if r.Outcome, r.Final = client.JudgePurchase(saleID, r.Reply); r.Final {
				return
			}
		}
		if !pause(ctx, r.Reply.RetryAfter) {
			return
		}
	}
}

// enter takes a slot, unless ctx is done first.
func enter(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits for the clamped Retry-After; false means that ctx ended first.
func pause(ctx context.Context, told time.Duration) bool {
	if told <= 0 {
		told = unsaidWait
	}
	return sleep(ctx, min(max(told, minWait), maxWait))
}

// sleep waits; false means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
