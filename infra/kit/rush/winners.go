package rush

import (
	"context"
	"net/http"
	"sync"
	"time"

	"flashsale/infra/kit/client"
)

// Sighting is the last state of their order that a buyer saw.
type Sighting struct {
	Buyer   int // index into the crowd
	Found   bool
	ClaimID string
	OrderID string // "" while pending
	// ConfirmedBy is when the buyer saw the confirmation.
	ConfirmedBy time.Time
	Err         error
}

// WhoAsks returns the buyers who follow up: those who got a claim and those who had to
// repeat a click. The outcome of a click without an answer is unknown, and the refusal of
// its repeat names the status resource (P5).
func WhoAsks(results []Result) []int {
	var asks []int
	seen := map[int]bool{}
	for _, r := range results {
		told := r.Verdict == Accepted || r.Verdict == AlreadyOrdered
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
		var r client.Answer
		r, s.Err = a.Mine(ctx, saleID, b.Token)
		at := now()
		<-slots
		switch {
		case s.Err == nil && r.Status == http.StatusOK:
			s.Found, s.ClaimID = true, r.Claim.ClaimID
			if r.Claim.OrderID != "" { // in any state but PENDING, also one that is new
				s.OrderID, s.ConfirmedBy = r.Claim.OrderID, at
				return
			}
		case s.Err == nil && r.Status == http.StatusNotFound && r.Code == "order-not-found":
			return
		}
		if !pause(ctx, r.RetryAfter) {
			return
		}
	}
}
