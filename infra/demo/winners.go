package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"flashsale/infra/client"
)

// sighting is the last state of their order that a buyer saw.
type sighting struct {
	buyer   int // index into the crowd
	found   bool
	claimID string
	orderID string // "" while pending
	// confirmedBy is when the buyer saw the confirmation.
	confirmedBy time.Time
	err         error
}

// whoAsks returns the buyers who follow up: those who got a claim and those who had to
// repeat a click. The outcome of a click without an answer is unknown, and the refusal of
// its repeat names the status resource (P5).
func whoAsks(results []result) []int {
	var asks []int
	seen := map[int]bool{}
	for _, r := range results {
		told := r.verdict == accepted || r.verdict == alreadyOrdered
		if (told || r.tries > 1) && !seen[r.buyer] {
			seen[r.buyer] = true
			asks = append(asks, r.buyer)
		}
	}
	return asks
}

// follow polls for these buyers until each order is confirmed or ctx is done. It calls seen
// when a buyer stops polling, concurrently.
func follow(ctx context.Context, a api, saleID string, crowd []buyer, asks []int, concurrency int, now func() time.Time, seen func()) []sighting {
	sightings := make([]sighting, len(asks))
	slots := make(chan struct{}, concurrency)
	var wg sync.WaitGroup
	for i, b := range asks {
		wg.Go(func() {
			sightings[i].buyer = b
			sightings[i].watch(ctx, a, saleID, crowd[b], slots, now)
			seen()
		})
	}
	wg.Wait()
	return sightings
}

func (s *sighting) watch(ctx context.Context, a api, saleID string, b buyer, slots chan struct{}, now func() time.Time) {
	for {
		if s.err = enter(ctx, slots); s.err != nil {
			return
		}
		var r client.Answer
		r, s.err = a.Mine(ctx, saleID, b.token)
		at := now()
		<-slots
		switch {
		case s.err == nil && r.Status == http.StatusOK:
			s.found, s.claimID = true, r.Claim.ClaimID
			if r.Claim.State == "CONFIRMED" {
				s.orderID, s.confirmedBy = r.Claim.OrderID, at
				return
			}
		case s.err == nil && r.Status == http.StatusNotFound && r.Code == "order-not-found":
			return
		}
		if !pause(ctx, r.RetryAfter) {
			return
		}
	}
}
