package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// numbered: P7. One id per order, one order per id, the same one everywhere.
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
		user := e.crowd[s.buyer].user
		for _, c := range held[user] {
			if s.orderID != "" && (c.OrderID != s.orderID || c.ClaimID != s.claimID) {
				l.breaks("%s saw order %s, the books say %s", user, s.orderID, c.OrderID)
			}
		}
	}
	l.figure = thousands(len(ids)) + " order ids"
	return l
}

// inOrder: P7. An id tells the second of its confirmation, and ids rise with
// it. What a client can be sure of is that an order was confirmed between its
// acceptance and the moment it was seen confirmed; where two such spans do not
// overlap, the later order must have the larger id.
func (e *evidence) inOrder() line {
	l := line{promise: "P7", says: "order ids rise with their confirmation"}
	seen := map[string]time.Time{}
	for _, s := range e.sightings {
		if s.orderID != "" {
			seen[s.orderID] = s.confirmedBy
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
			continue // pending: settled finds it
		}
		s := span{id: id, from: c.AcceptedAt, to: e.endedAt}
		if at, ok := seen[c.OrderID]; ok {
			s.to = at
		}
		if at := c.ConfirmedAt; at.Before(s.from.Truncate(time.Second)) || at.After(s.to) {
			l.breaks("order %s of %s says %s, but was confirmed between %s and %s", c.OrderID, c.User,
				at.Format(time.TimeOnly), s.from.UTC().Format(time.TimeOnly), s.to.UTC().Format(time.TimeOnly))
		}
		spans = append(spans, s)
		confirmed = append(confirmed, c.ConfirmedAt)
	}
	if len(spans) == 0 {
		l.figure = "no order ids"
		return l
	}
	// By start; next to it, the largest id among those that had ended by then.
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

// settled: P8.
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
		switch user := e.crowd[s.buyer].user; {
		case s.found && s.orderID == "" && s.err != nil:
			l.breaks("%s has not seen the order confirmed: %v", user, s.err)
		case s.found && s.orderID == "":
			l.breaks("%s has not seen the order confirmed", user)
		case !s.found && s.err != nil:
			l.breaks("%s got no answer about their order: %v", user, s.err)
		}
	}
	for _, b := range e.unseen() {
		l.breaks("%s was accepted and then told that there is no such order", e.crowd[b].user)
	}
	l.figure = thousands(pending) + " orders pending"
	return l
}

// unseen are buyers who were told of a claim that the status resource, asked
// afterwards, does not know.
func (e *evidence) unseen() []int {
	lost := map[int]bool{}
	for _, s := range e.sightings {
		if !s.found && s.err == nil {
			lost[s.buyer] = true
		}
	}
	var buyers []int
	for _, r := range e.results {
		if (r.verdict == accepted || r.verdict == alreadyOrdered) && lost[r.buyer] {
			buyers = append(buyers, r.buyer)
			delete(lost, r.buyer)
		}
	}
	return buyers
}
