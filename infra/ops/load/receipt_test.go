package main

import (
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/verdict"
)

var start = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// good returns the evidence of a faultless rush: a, who has a key, bought the only bottle, and
// b and c got none.
func good() evidence {
	at := func(minutes time.Duration) verdict.Span {
		return verdict.Span{From: start.Add(minutes * time.Minute), Until: start.Add(minutes * time.Minute)}
	}
	h := verdict.New(verdict.Sale{Units: 1, Shards: 1, Own: true, Steady: true})
	tally := newTally()
	click := func(user string, o client.Outcome, a client.Answer) {
		if h.Clicked(user, user == "a", at(1), o, a) {
			o = acceptedAgain
		}
		tally.final(o, time.Second)
	}
	claim := client.Claim{ClaimID: "A", SaleID: "s", State: "PENDING"}
	click("a", client.Accepted, client.Answer{Status: 202, Claim: claim})
	click("a", client.Accepted, client.Answer{Status: 202, Claim: claim})
	click("b", client.SoldOut, client.Answer{Status: 409})
	click("c", client.SoldOut, client.Answer{Status: 409})
	claim.State, claim.OrderID = "CONFIRMED", "1"
	h.Asked("a", at(2), client.Confirmed, client.Answer{Claim: claim})
	return evidence{
		buyers: 3, history: h, tally: tally,
		books: &books.Sale{
			Seeded: 1, Open: true, Shards: map[int]books.Shard{0: {Stock: 0, Seeded: 1}},
			Claims: []books.Claim{{User: "a", ClaimID: "A", AcceptedAt: start, OrderID: "1", ConfirmedAt: start}},
		},
		readAt: start.Add(time.Hour),
	}
}

func TestAGoodRushHasAReceiptWithItsFigures(t *testing.T) {
	var figures []string
	lines := audit(good())
	for _, l := range lines {
		figures = append(figures, l.promise+": "+l.figure)
	}
	want := "P1: 1 of 1 bottles, P2: 0 + 1 = 1 bottles, P3: 1 buyers, P4: 2 accepted clicks, P5 P6: 2 refused clicks, " +
		"P9: 1 repeated clicks, P7: 1 order ids, P7: within 1 s, P8: 0 orders pending"
	if got := strings.Join(figures, ", "); got != want || !allHold(lines) {
		t.Errorf("got  %s\nwant %s\n%v", got, want, lines)
	}
}

func TestAFindingIsOnTheLineOfItsPromise(t *testing.T) {
	for _, c := range []struct {
		name          string
		spoil         func(e *evidence)
		promise, find string
	}{
		{"a finding of the recount", func(e *evidence) { e.findings = []books.Finding{{Promise: "P8", Text: "something"}} }, "P8", "something"},
		{"one of a promise without a line", func(e *evidence) { e.findings = []books.Finding{{Promise: "P14", Text: "something"}} }, "P2", "something (P14)"},
		{"one of the table", func(e *evidence) { e.books.Shards[1] = books.Shard{} }, "P2", "2 shards are stored"},
		{"a click without an answer", func(e *evidence) { e.history.Unanswered("b", "no route") }, "P5 P6", "a click of b has no answer: no route"},
		{"an order id that does not rise", func(e *evidence) { e.books.Claims[0].AcceptedAt = start.Add(time.Second) }, "P7", "has the time 12:00:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := good()
			c.spoil(&e)
			for _, l := range audit(e) {
				if l.promise == c.promise && strings.Contains(strings.Join(l.broken, "\n"), c.find) {
					return
				}
			}
			t.Errorf("no finding of %s with %q in %v", c.promise, c.find, audit(e))
		})
	}
}
