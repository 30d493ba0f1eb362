package rush

import (
	"fmt"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/verdict"
)

// Tell enters the crowd's answers into the history of the sale: those to all clicks, and what
// the buyers who asked for their orders saw in the end. Who has a claim must have seen it
// confirmed (P8).
func Tell(h *verdict.History, crowd []Buyer, results []Result, sightings []Sighting) {
	for _, r := range results {
		b := crowd[r.Buyer]
		if !r.Final {
			h.Unanswered(b.User, fmt.Sprintf("after %d tries %s", r.Tries, last(r.Reply, r.Err)))
			continue
		}
		h.Clicked(b.User, b.Key != "", verdict.Span{From: r.Asked, Until: r.Answered}, r.Outcome, r.Reply)
	}
	for _, s := range sightings {
		user := crowd[s.Buyer].User
		if s.Outcome != "" {
			h.Asked(user, verdict.Span{From: s.Asked, Until: s.Answered}, s.Outcome, s.Reply)
		}
		if s.Confirmed() || s.Outcome == client.NoOrder && !h.Holds(user) {
			continue
		}
		h.Report("P8", "%s did not see the order confirmed: %s", user, last(s.Reply, s.Err))
	}
}

// last is the answer to a buyer's last request, or why there is none.
func last(a client.Answer, err error) string {
	if err != nil {
		return err.Error()
	}
	return a.String()
}
