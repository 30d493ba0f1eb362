package rush

import (
	"context"
	"sync"
	"time"

	"flashsale/infra/kit/client"
)

// Sighting is the last state of their order that a buyer saw.
type Sighting struct {
	Buyer           int // index into the crowd
	Outcome         client.Outcome
	Reply           client.Answer
	Asked, Answered time.Time // of the last answer
	Err             error     // of the last request, if it got no answer
}

// Confirmed reports whether the buyer knows the order id.
func (s Sighting) Confirmed() bool { return s.Outcome == client.Confirmed }

// WhoAsks returns the buyers who follow up: those who got a claim and those who had to
// repeat a click. The outcome of a click without an answer is unknown, and the refusal of
// its repeat names the status resource (P5).
func WhoAsks(results []Result) []int {
	var asks []int
	seen := map[int]bool{}
	for _, r := range results {
		told := r.Outcome == client.Accepted || r.Outcome == client.AlreadyOrdered
		if (told || r.Tries > 1) && !seen[r.Buyer] {
			seen[r.Buyer] = true
			asks = append(asks, r.Buyer)
		}
	}
	return asks
}

// Follow polls for these buyers until each order is confirmed or ctx is done. It calls seen
// when a buyer stops polling, concurrently.
func Follow(ctx context.Context, a API, saleID string, crowd []Buyer, asks []int, concurrency int, now func() time.Time, seen func()) []Sighting {
	sightings := make([]Sighting, len(asks))
	slots := make(chan struct{}, concurrency)
	var wg sync.WaitGroup
	for i, b := range asks {
		wg.Go(func() {
			sightings[i].Buyer = b
			sightings[i].watch(ctx, a, saleID, crowd[b], slots, now)
			seen()
		})
	}
	wg.Wait()
	return sightings
}

func (s *Sighting) watch(ctx context.Context, a API, saleID string, b Buyer, slots chan struct{}, now func() time.Time) {
	for {
		if s.Err = enter(ctx, slots); s.Err != nil {
			return
		}
		asked := now()
		var r client.Answer
		r, s.Err = a.Mine(ctx, saleID, b.Token)
		answered := now()
		<-slots
		if s.Err == nil {
			final := false
			s.Reply, s.Asked, s.Answered = r, asked, answered
			if s.Outcome, final = client.JudgePoll(saleID, r); final {
				return
			}
		}
		if !pause(ctx, r.RetryAfter) {
			return
		}
	}
}
