package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
	"flashsale/shared/orderid"
)

var start = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// good returns the evidence of a faultless rush: 3 units on 2 shards, 5 buyers; a and b send
// keys; a and c click twice.
func good() evidence {
	id := func(second int, n uint64) string {
		v, err := orderid.New(start.Add(time.Duration(second)*time.Second), n)
		if err != nil {
			panic(err)
		}
		return orderid.String(v)
	}
	yes := func(buyer int, claim string) rush.Result {
		return rush.Result{Buyer: buyer, Verdict: rush.Accepted, Tries: 1,
			Reply: client.Answer{Status: 202, Body: []byte("claim " + claim), Claim: client.Claim{ClaimID: claim}}}
	}
	no := func(buyer int) rush.Result { return rush.Result{Buyer: buyer, Verdict: rush.SoldOut, Tries: 1} }
	return evidence{
		stock: 3, shards: 2,
		crowd: []rush.Buyer{{User: "a", Key: "ka"}, {User: "b", Key: "kb"}, {User: "c"}, {User: "d"}, {User: "e", Key: "ke"}},
		results: []rush.Result{
			yes(0, "A"), yes(0, "A"), yes(1, "B"),
			{Buyer: 2, Verdict: rush.AlreadyOrdered, Tries: 1, Reply: client.Answer{Claim: client.Claim{ClaimID: "C"}}}, yes(2, "C"),
			no(3), no(4),
		},
		sightings: []rush.Sighting{
			{Buyer: 0, Found: true, ClaimID: "A", OrderID: id(1, 1), ConfirmedBy: start.Add(2 * time.Second)},
			{Buyer: 1, Found: true, ClaimID: "B", OrderID: id(1, 2), ConfirmedBy: start.Add(2 * time.Second)},
			{Buyer: 2, Found: true, ClaimID: "C", OrderID: id(4, 3), ConfirmedBy: start.Add(5 * time.Second)},
		},
		books: &books.Sale{
			Seeded: 3, Open: true,
			Shards: map[int]books.Shard{0: {Stock: 0, Seeded: 2}, 1: {Stock: 0, Seeded: 1}},
			Claims: []books.Claim{
				{User: "a", ClaimID: "A", Shard: 0, AcceptedAt: start.Add(time.Second), OrderID: id(1, 1), ConfirmedAt: start.Add(time.Second)},
				{User: "b", ClaimID: "B", Shard: 1, AcceptedAt: start.Add(time.Second), OrderID: id(1, 2), ConfirmedAt: start.Add(time.Second)},
				{User: "c", ClaimID: "C", Shard: 0, AcceptedAt: start.Add(3 * time.Second), OrderID: id(4, 3), ConfirmedAt: start.Add(4 * time.Second)},
			},
		},
		endedAt: start.Add(time.Minute),
	}
}

func TestGoodBooksPassEveryCheck(t *testing.T) {
	lines := audit(good())
	if !allHold(lines) {
		t.Errorf("broken: %v", lines)
	}
	if len(lines) != 9 {
		t.Errorf("%d promises are on the receipt, want 9", len(lines))
	}
}

func TestEachKindOfBrokenBooksIsFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(*evidence)
		broken string // the promise
		finds  string // a part of the finding
	}{
		{"a unit too many was sold", func(e *evidence) {
			e.stock = 2
		}, "P1", "3 units were sold, not 2"},
		{"a unit was not sold though somebody wanted it", func(e *evidence) {
			e.stock = 4
		}, "P1", "3 units were sold, not 4"},
		{"a shard is missing", func(e *evidence) {
			delete(e.books.Shards, 1)
		}, "P2", "1 shards are stored"},
		{"there is a shard too many", func(e *evidence) {
			e.books.Shards[2] = books.Shard{}
		}, "P2", "3 shards are stored, but 2 were asked for"},
		{"the sale says another sum", func(e *evidence) {
			e.books.Seeded = 6
		}, "P2", "6 units were seeded, but 3 were asked for"},
		{"a stranger holds a unit", func(e *evidence) {
			e.books.Claims[1].User = "z"
		}, "P3", "z is not in the crowd"},
		{"an accepted claim is not in the books", func(e *evidence) {
			e.results[2].Reply.Claim.ClaimID = "X"
		}, "P4", "b got an answer with claim X"},
		{"a click has no answer", func(e *evidence) {
			e.results[5] = rush.Result{Buyer: 3, Tries: 20, Err: errors.New("no route")}
		}, "P5 P6", "no answer after 20 tries: no route"},
		{"a click has an answer that is not in the contract", func(e *evidence) {
			e.results[5] = rush.Result{Buyer: 3, Verdict: rush.Unexpected, Reply: client.Answer{Status: 500, Body: []byte(`{"code":"internal"}`)}}
		}, "P5 P6", `500 "{`},
		{"a winner only got sold-out", func(e *evidence) {
			e.results[2] = rush.Result{Buyer: 1, Verdict: rush.SoldOut}
			e.sightings = e.sightings[:1]
		}, "P5 P6", "b holds a unit but only got sold-out"},
		{"sold-out was false", func(e *evidence) {
			e.books.Shards[0] = books.Shard{Stock: 1, Seeded: 3}
		}, "P5 P6", "2 buyers got sold-out, but 1 units are left"},
		{"a repeated key got another body", func(e *evidence) {
			e.results[1].Reply.Body = []byte("claim A, CONFIRMED")
		}, "P9", "a got two different answers"},
		{"a repeated key got a refusal", func(e *evidence) {
			e.results[1].Verdict = rush.AlreadyOrdered
		}, "P9", "a repeated a click with a key"},
		{"a repeated key got sold-out", func(e *evidence) {
			e.results[1].Verdict = rush.SoldOut
		}, "P9", "the same key got sold-out"},
		{"two clicks without a key were accepted", func(e *evidence) {
			e.results[3].Verdict = rush.Accepted
		}, "P9", "c sent no key and 2 clicks were accepted"},
		{"a buyer saw another order id than the books have", func(e *evidence) {
			e.sightings[1].OrderID = "12345"
		}, "P7", "b saw order 12345"},
		{"an id is older than its claim", func(e *evidence) {
			e.books.Claims[0].AcceptedAt = start.Add(2 * time.Second)
		}, "P7", "has the time 12:00:01, but was confirmed between 12:00:02"},
		{"an id is younger than its confirmation", func(e *evidence) {
			e.sightings[2].ConfirmedBy = start.Add(3 * time.Second)
		}, "P7", "has the time 12:00:04"},
		{"a later order of the same second has the smaller id", func(e *evidence) {
			at := start.Add(time.Second)
			e.sightings[1].ConfirmedBy = at.Add(300 * time.Millisecond)
			e.books.Claims[0].AcceptedAt = at.Add(400 * time.Millisecond)
		}, "P7", "was confirmed before it was accepted"},
		{"a buyer never saw the confirmation", func(e *evidence) {
			e.sightings[2].OrderID = ""
		}, "P8", "c did not see the order confirmed"},
		{"a buyer could not ask", func(e *evidence) {
			e.sightings[2] = rush.Sighting{Buyer: 2, Err: errors.New("no route")}
		}, "P8", "c got no answer about their order: no route"},
		{"an accepted order is denied afterwards", func(e *evidence) {
			e.sightings[2] = rush.Sighting{Buyer: 2}
		}, "P8", "c was accepted and then got"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := good()
			c.spoil(&e)
			for _, l := range audit(e) {
				if l.promise == c.broken && strings.Contains(strings.Join(l.broken, "\n"), c.finds) {
					return
				}
			}
			t.Errorf("no finding of %s with %q in %v", c.broken, c.finds, audit(e))
		})
	}
}

func TestTheRecountsFindingsAreReportedWithTheirPromise(t *testing.T) {
	for promise, on := range map[string]string{"P1": "P1", "P2": "P2", "P3": "P3", "P6": "P2", "P7": "P7", "P8": "P8", "P9": "P2", "P11": "P2",
		"P13": "P2", "P14": "P2", "P15": "P2", "P17": "P2", "P19": "P2"} {
		e := good()
		e.findings = []books.Finding{{Promise: promise, Text: "something"}}
		var got []string
		for _, l := range audit(e) {
			if len(l.broken) > 0 {
				got = append(got, l.promise)
			}
		}
		if len(got) != 1 || got[0] != on {
			t.Errorf("a finding of %s is reported with %q, want %s", promise, got, on)
		}
	}
}

func TestNoPromiseIsBrokenWhere(t *testing.T) {
	t.Run("a winner's other click without a key gets sold-out", func(t *testing.T) {
		e := good()
		e.results[3] = rush.Result{Buyer: 2, Verdict: rush.SoldOut}
		if lines := audit(e); !allHold(lines) {
			t.Errorf("broken: %v", lines)
		}
	})
	t.Run("a buyer whose answer was lost finds the order by asking for it", func(t *testing.T) {
		e := good()
		e.results[3] = rush.Result{Buyer: 2, Verdict: rush.SoldOut, Tries: 2}
		e.results[4] = rush.Result{Buyer: 2, Verdict: rush.SoldOut, Tries: 2}
		if lines := audit(e); !allHold(lines) {
			t.Errorf("broken: %v", lines)
		}
	})
	t.Run("a loser who had to repeat a click finds no order", func(t *testing.T) {
		e := good()
		e.results[5].Tries = 2
		e.sightings = append(e.sightings, rush.Sighting{Buyer: 3})
		if lines := audit(e); !allHold(lines) {
			t.Errorf("broken: %v", lines)
		}
	})
	t.Run("fewer buyers than bottles leave some unsold", func(t *testing.T) {
		e := good()
		e.crowd, e.results = e.crowd[:3], e.results[:5]
		e.stock, e.books.Seeded = 9, 9
		e.books.Shards = map[int]books.Shard{0: {Stock: 3, Seeded: 5}, 1: {Stock: 3, Seeded: 4}}
		if lines := audit(e); !allHold(lines) {
			t.Errorf("broken: %v", lines)
		}
	})
}
