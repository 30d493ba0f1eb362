package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"flashsale/infra/client"
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

// buyer is one member of the crowd. All clicks of one buyer carry the same key.
type buyer struct {
	user   string
	key    string // Idempotency-Key; "" to send none
	clicks int
	token  string
}

// plan makes the crowd: each buyer has 1 to clicks clicks, and about half of the buyers have
// an Idempotency-Key. The same seed makes the same crowd.
func plan(seed uint64, buyers, clicks int) []buyer {
	r := rand.New(rand.NewPCG(seed, 0))
	crowd := make([]buyer, buyers)
	for i := range crowd {
		crowd[i] = buyer{user: fmt.Sprintf("buyer-%05d", i+1), clicks: 1 + r.IntN(clicks)}
		if r.IntN(2) == 0 {
			crowd[i].key = fmt.Sprintf("key-%016x", r.Uint64())
		}
	}
	r.Shuffle(len(crowd), func(i, j int) { crowd[i], crowd[j] = crowd[j], crowd[i] })
	return crowd
}

func totalClicks(crowd []buyer) int {
	n := 0
	for _, b := range crowd {
		n += b.clicks
	}
	return n
}

// verdict is what an answer to a click means.
type verdict int

const (
	unanswered verdict = iota // no final answer: ask again
	accepted
	alreadyOrdered
	soldOut
	unexpected // not a valid answer of an open sale
)

// judge classifies the answer to a click. A transient failure counts as unanswered: a
// repeat is safe (P5).
func judge(saleID string, r client.Answer) verdict {
	switch {
	case r.Status == http.StatusAccepted && r.Claim.ClaimID != "" && r.Claim.SaleID == saleID && r.Claim.State == "PENDING":
		return accepted
	case r.Status == http.StatusConflict && r.Code == "already-ordered" && r.Claim.ClaimID != "":
		return alreadyOrdered
	case r.Status == http.StatusConflict && r.Code == "sold-out":
		return soldOut
	case r.Status == http.StatusTooManyRequests, r.Status == http.StatusServiceUnavailable:
		return unanswered
	case r.Status >= http.StatusInternalServerError && r.Code == "":
		return unanswered // from API Gateway: the function's result is unknown
	}
	return unexpected
}

// result is the outcome of one click.
type result struct {
	buyer    int // index into the crowd
	verdict  verdict
	reply    client.Answer // the last reply
	err      error         // of the last try, if it got no answer
	tries    int
	answered time.Time       // when the last answer came
	took     []time.Duration // latency of each answer
}

// api is the part of the client that a buyer uses.
type api interface {
	Buy(ctx context.Context, saleID, token, key string) (client.Answer, error)
	Mine(ctx context.Context, saleID, token string) (client.Answer, error)
}

// rush makes all clicks at once: every click has its own goroutine, and only the requests in
// flight are bounded, so that a buyer waiting for a Retry-After delays no one else. It ends
// when every click has its final answer or has been tried maxTries times, or when ctx is
// done. It calls answered after each click, concurrently.
func rush(ctx context.Context, a api, saleID string, crowd []buyer, concurrency int, now func() time.Time, answered func()) []result {
	results := make([]result, 0, totalClicks(crowd))
	for i, b := range crowd {
		for range b.clicks {
			results = append(results, result{buyer: i})
		}
	}
	slots, start := make(chan struct{}, concurrency), make(chan struct{})
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			<-start
			r := &results[i]
			r.click(ctx, a, saleID, crowd[r.buyer], slots, now)
			answered()
		})
	}
	close(start)
	wg.Wait()
	return results
}

// click repeats the request until there is a final answer.
func (r *result) click(ctx context.Context, a api, saleID string, b buyer, slots chan struct{}, now func() time.Time) {
	for r.tries < maxTries {
		if r.err = enter(ctx, slots); r.err != nil {
			return
		}
		r.tries++
		asked := now()
		r.reply, r.err = a.Buy(ctx, saleID, b.token, b.key)
		r.answered = now()
		<-slots
		if r.err == nil {
			r.took = append(r.took, r.answered.Sub(asked))
			if r.verdict = judge(saleID, r.reply); r.verdict != unanswered {
				return
			}
		}
		if !pause(ctx, r.reply.RetryAfter) {
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
	timer := time.NewTimer(min(max(told, minWait), maxWait))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
