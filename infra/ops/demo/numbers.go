package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"flashsale/infra/kit/rush"
)

// numbered checks P7: one id per order and one order per id, and buyers see the stored id.
func (e *evidence) numbered() line {
	l := line{promise: "P7", says: "one order id per order, all different"}
	l.recounted(e)
	ids := map[string]bool{}
	for _, c := range e.books.Claims {
		if c.OrderID != "" {
			ids[c.OrderID] = true
		}
	}
	held := e.claimsByUser()
	for _, s := range e.sightings {
		user := e.crowd[s.Buyer].User
		for _, c := range held[user] {
			if s.OrderID != "" && (c.OrderID != s.OrderID || c.ClaimID != s.ClaimID) {
				l.breaks("%s saw order %s, but the books have %s", user, s.OrderID, c.OrderID)
			}
		}
	}
	l.figure = thousands(len(ids)) + " order ids"
	return l
}

// inOrder checks P7: an id contains the second of its confirmation, and ids rise with that
// time. A client knows only that an order was confirmed between its acceptance and the
// moment it was seen confirmed. If two such spans do not overlap, the later order must have
// the larger id.
func (e *evidence) inOrder() line {
	l := line{promise: "P7", says: "order ids rise with confirmation time"}
	seen := map[string]time.Time{}
	for _, s := range e.sightings {
		if s.OrderID != "" {
			seen[s.OrderID] = s.ConfirmedBy
		}
	}
	type span struct {
		id       uint64
		from, to time.Time
	}
	var spans []span
	var confirmed []time.Time
	for _, c := range e.books.Claims {
		id, err := strconv.ParseUint(c.OrderID, 10, 64)
		if err != nil {
			continue // pending: settled reports it
		}
		s := span{id: id, from: c.AcceptedAt, to: e.endedAt}
		if at, ok := seen[c.OrderID]; ok {
			s.to = at
		}
		if at := c.ConfirmedAt; at.Before(s.from.Truncate(time.Second)) || at.After(s.to) {
			l.breaks("order %s of %s has the time %s, but was confirmed between %s and %s", c.OrderID, c.User,
				at.Format(time.TimeOnly), s.from.UTC().Format(time.TimeOnly), s.to.UTC().Format(time.TimeOnly))
		}
		spans = append(spans, s)
		confirmed = append(confirmed, c.ConfirmedAt)
	}
	if len(spans) == 0 {
		l.figure = "no order ids"
		return l
	}
	// Go through the spans by start and keep the largest id of the spans that ended before it.
	ended := slices.SortedFunc(slices.Values(spans), func(a, b span) int { return a.to.Compare(b.to) })
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var largest uint64
	for _, s := range spans {
		for len(ended) > 0 && ended[0].to.Before(s.from) {
			largest = max(largest, ended[0].id)
			ended = ended[1:]
		}
		if s.id <= largest {
			l.breaks("order %d is smaller than %d, which was confirmed before it was accepted", s.id, largest)
		}
	}
	first, last := slices.MinFunc(confirmed, time.Time.Compare), slices.MaxFunc(confirmed, time.Time.Compare)
	l.figure = fmt.Sprintf("within %.0f s", (last.Sub(first) + time.Second).Seconds())
	return l
}

// settled checks P8.
func (e *evidence) settled() line {
	l := line{promise: "P8", says: "every accepted order is confirmed"}
	pending := 0
	l.recounted(e)
	for _, c := range e.books.Claims {
		if c.OrderID == "" {
			pending++
		}
	}
	for _, s := range e.sightings {
		switch user := e.crowd[s.Buyer].User; {
		case s.Found && s.OrderID == "" && s.Err != nil:
			l.breaks("%s did not see the order confirmed: %v", user, s.Err)
		case s.Found && s.OrderID == "":
			l.breaks("%s did not see the order confirmed", user)
		case !s.Found && s.Err != nil:
			l.breaks("%s got no answer about their order: %v", user, s.Err)
		}
	}
	for _, b := range e.unseen() {
		l.breaks("%s was accepted and then got order-not-found", e.crowd[b].User)
	}
	l.figure = thousands(pending) + " orders pending"
	return l
}

// unseen returns the buyers who got a claim that the status resource did not return later.
func (e *evidence) unseen() []int {
	lost := map[int]bool{}
	for _, s := range e.sightings {
		if !s.Found && s.Err == nil {
			lost[s.Buyer] = true
		}
	}
	var buyers []int
	for _, r := range e.results {
		if (r.Verdict == rush.Accepted || r.Verdict == rush.AlreadyOrdered) && lost[r.Buyer] {
			buyers = append(buyers, r.Buyer)
			delete(lost, r.Buyer)
		}
	}
	return buyers
}
