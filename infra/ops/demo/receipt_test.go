package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
)

var start = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// good returns the evidence of a faultless rush: a bought the only bottle, and c, who had to
// repeat a click, found no order.
func good() evidence {
	claim := client.Claim{ClaimID: "A", SaleID: "s", State: "PENDING"}
	order := client.Claim{ClaimID: "A", SaleID: "s", State: "CONFIRMED", OrderID: "1"}
	yes := rush.Result{Final: true, Outcome: client.Accepted, Tries: 1, Reply: client.Answer{Status: 202, Claim: claim}}
	no := rush.Result{Final: true, Outcome: client.SoldOut, Tries: 1, Asked: start.Add(time.Minute), Answered: start.Add(time.Minute)}
	other, repeated := no, no
	other.Buyer, repeated.Buyer, repeated.Tries = 1, 2, 2
	return evidence{
		stock: 1, shards: 1,
		crowd:   []rush.Buyer{{User: "a", Key: "ka"}, {User: "b"}, {User: "c"}},
		results: []rush.Result{yes, yes, other, repeated},
		sightings: []rush.Sighting{
			{Buyer: 0, Outcome: client.Confirmed, Reply: client.Answer{Claim: order}, Asked: start.Add(time.Minute), Answered: start.Add(time.Minute)},
			{Buyer: 2, Outcome: client.NoOrder},
		},
		books: &books.Sale{
			Seeded: 1, Open: true, Shards: map[int]books.Shard{0: {Stock: 0, Seeded: 1}},
			Claims: []books.Claim{{User: "a", ClaimID: "A", AcceptedAt: start, OrderID: "1", ConfirmedAt: start}},
		},
		endedAt: start.Add(time.Hour),
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
		{"one of the answers", func(e *evidence) {
			e.results[2].Outcome, e.results[2].Reply = client.Wrong, client.Answer{Status: 500, Body: []byte(`{"code":"internal"}`)}
		}, "P5 P6", `500 "{`},
		{"a click without an answer", func(e *evidence) {
			e.results[2] = rush.Result{Buyer: 1, Tries: 20, Err: errors.New("no route")}
		}, "P5 P6", "after 20 tries no route"},
		{"an order id that does not rise", func(e *evidence) { e.books.Claims[0].AcceptedAt = start.Add(time.Second) }, "P7", "has the time 12:00:00"},
		{"an order that its buyer never saw confirmed", func(e *evidence) { e.sightings[0].Outcome = client.Pending }, "P8", "a did not see the order confirmed"},
		{"a buyer who could not ask", func(e *evidence) {
			e.sightings[0] = rush.Sighting{Err: errors.New("no route")}
		}, "P8", "a did not see the order confirmed: no route"},
		{"an accepted order that is denied afterwards", func(e *evidence) {
			e.sightings[0] = rush.Sighting{Outcome: client.NoOrder, Reply: client.Answer{Status: 404}, Asked: start}
		}, "P8", "a did not see the order confirmed: 404"},
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
