package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"flashsale/infra/replies"
	"flashsale/shared/orderid"
)

var start = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// good is the evidence of a rush in which everything went right: 3 units on 2
// shards, 5 buyers; a and b send keys, a clicks twice, c clicks twice.
func good() evidence {
	id := func(second int, n uint64) string {
		v, err := orderid.New(start.Add(time.Duration(second)*time.Second), n)
		if err != nil {
			panic(err)
		}
		return orderid.String(v)
	}
	yes := func(buyer int, claim string) result {
		return result{buyer: buyer, verdict: accepted, tries: 1,
			reply: reply{status: 202, body: "claim " + claim, claim: replies.Claim{ClaimID: claim}}}
	}
	no := func(buyer int) result { return result{buyer: buyer, verdict: soldOut, tries: 1} }
	return evidence{
		stock: 3, shards: 2,
		crowd: []buyer{{user: "a", key: "ka"}, {user: "b", key: "kb"}, {user: "c"}, {user: "d"}, {user: "e", key: "ke"}},
		results: []result{
			yes(0, "A"), yes(0, "A"), yes(1, "B"),
			{buyer: 2, verdict: alreadyOrdered, tries: 1, reply: reply{claim: replies.Claim{ClaimID: "C"}}}, yes(2, "C"),
			no(3), no(4),
		},
		sightings: []sighting{
			{buyer: 0, found: true, claimID: "A", orderID: id(1, 1), confirmedBy: start.Add(2 * time.Second)},
			{buyer: 1, found: true, claimID: "B", orderID: id(1, 2), confirmedBy: start.Add(2 * time.Second)},
			{buyer: 2, found: true, claimID: "C", orderID: id(4, 3), confirmedBy: start.Add(5 * time.Second)},
		},
		books: books{
			seeded: 3, shardCount: 2,
			shards: map[int]shard{0: {stock: 0, seeded: 2}, 1: {stock: 0, seeded: 1}},
			claims: []claim{
				{user: "a", claimID: "A", shard: 0, acceptedAt: start.Add(time.Second), orderID: id(1, 1)},
				{user: "b", claimID: "B", shard: 1, acceptedAt: start.Add(time.Second), orderID: id(1, 2)},
				{user: "c", claimID: "C", shard: 0, acceptedAt: start.Add(3 * time.Second), orderID: id(4, 3)},
			},
			orders: []order{
				{orderID: id(1, 1), user: "a", claimID: "A"},
				{orderID: id(1, 2), user: "b", claimID: "B"},
				{orderID: id(4, 3), user: "c", claimID: "C"},
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
		finds  string // part of the finding
	}{
		{"a unit too many was sold", func(e *evidence) {
			e.stock = 2
		}, "P1", "3 units were sold, not 2"},
		{"a unit was not sold though somebody wanted it", func(e *evidence) {
			e.stock = 4
		}, "P1", "3 units were sold, not 4"},
		{"a shard is below zero", func(e *evidence) {
			e.books.shards[0] = shard{stock: -1, seeded: 2}
		}, "P1", "shard 0 has -1 units left"},
		{"one shard has lost what another has won", func(e *evidence) {
			e.books.claims[0].shard = 1
		}, "P2", "shard 1: 0 left + 2 claims, but 1 seeded"},
		{"a claim names a shard that does not exist", func(e *evidence) {
			e.books.claims[0].shard = 9
		}, "P2", "name shard 9"},
		{"a shard is missing", func(e *evidence) {
			delete(e.books.shards, 1)
		}, "P2", "1 shards are stored"},
		{"a shard is seeded twice", func(e *evidence) {
			e.books.shards[1] = shard{stock: 1, seeded: 2}
		}, "P2", "were seeded with 4"},
		{"the sale says another sum", func(e *evidence) {
			e.books.seeded = 6
		}, "P2", "the sale says 6"},
		{"an item cannot be read", func(e *evidence) {
			e.books.malformed = []string{"CLAIM#x#0: claimId is not a string"}
		}, "P2", "claimId is not a string"},
		{"a buyer holds two units in two buckets", func(e *evidence) {
			e.books.claims[1].user, e.books.claims[1].bucket = "a", 1
		}, "P3", "a holds more than one unit"},
		{"a stranger holds a unit", func(e *evidence) {
			e.books.claims[1].user = "z"
		}, "P3", "z is not of the crowd"},
		{"an accepted claim is not in the books", func(e *evidence) {
			e.results[2].reply.claim.ClaimID = "X"
		}, "P4", "b was told of claim X"},
		{"a click has no answer", func(e *evidence) {
			e.results[5] = result{buyer: 3, tries: 20, err: errors.New("no route")}
		}, "P5 P6", "no answer after 20 tries: no route"},
		{"a click has an answer that is not in the contract", func(e *evidence) {
			e.results[5] = result{buyer: 3, verdict: unexpected, reply: reply{status: 500, body: `{"code":"internal"}`}}
		}, "P5 P6", `500 "{`},
		{"a winner was only told that it is sold out", func(e *evidence) {
			e.results[2] = result{buyer: 1, verdict: soldOut}
			e.sightings = e.sightings[:1]
		}, "P5 P6", "b holds a unit and was told only that it is sold out"},
		{"sold out was a phantom", func(e *evidence) {
			e.books.shards[0] = shard{stock: 1, seeded: 3}
		}, "P5 P6", "2 buyers were told that it is sold out, but 1 units are left"},
		{"a repeated key got another body", func(e *evidence) {
			e.results[1].reply.body = "claim A, CONFIRMED"
		}, "P9", "a got two different answers"},
		{"a repeated key got a refusal", func(e *evidence) {
			e.results[1].verdict = alreadyOrdered
		}, "P9", "a repeated a keyed click"},
		{"a repeated key was told sold out", func(e *evidence) {
			e.results[1].verdict = soldOut
		}, "P9", "the same key was told sold-out"},
		{"two clicks without a key were accepted", func(e *evidence) {
			e.results[3].verdict = accepted
		}, "P9", "c sent no key and 2 clicks were accepted"},
		{"two orders share an id", func(e *evidence) {
			e.books.claims[1].orderID = e.books.claims[0].orderID
		}, "P7", "was given twice"},
		{"an order id is none", func(e *evidence) {
			e.books.claims[1].orderID = "4294967296" // no sequence number
		}, "P7", "b has order id 4294967296"},
		{"an order item is missing", func(e *evidence) {
			e.books.orders = e.books.orders[1:]
		}, "P7", "of a has no order item"},
		{"there is an order of no claim", func(e *evidence) {
			e.books.orders = append(e.books.orders, order{orderID: "99", user: "d"})
		}, "P7", "order 99 of d belongs to no claim"},
		{"a buyer saw another order id than the books have", func(e *evidence) {
			e.sightings[1].orderID = "12345"
		}, "P7", "b saw order 12345"},
		{"an id is older than its claim", func(e *evidence) {
			e.books.claims[0].acceptedAt = start.Add(2 * time.Second)
		}, "P7", "says 12:00:01, but was confirmed between 12:00:02"},
		{"an id is younger than its confirmation", func(e *evidence) {
			e.sightings[2].confirmedBy = start.Add(3 * time.Second)
		}, "P7", "says 12:00:04"},
		{"a later order of the same second has the smaller id", func(e *evidence) {
			at := start.Add(time.Second)
			e.sightings[1].confirmedBy = at.Add(300 * time.Millisecond)
			e.books.claims[0].acceptedAt = at.Add(400 * time.Millisecond)
		}, "P7", "was confirmed before it was accepted"},
		{"an order is still pending", func(e *evidence) {
			e.books.claims[2].orderID = ""
		}, "P8", "the order of c is still pending"},
		{"a buyer never saw the confirmation", func(e *evidence) {
			e.sightings[2].orderID = ""
		}, "P8", "c has not seen the order confirmed"},
		{"a buyer could not ask", func(e *evidence) {
			e.sightings[2] = sighting{buyer: 2, err: errors.New("no route")}
		}, "P8", "c got no answer about the own order: no route"},
		{"an accepted order is denied afterwards", func(e *evidence) {
			e.sightings[2] = sighting{buyer: 2}
		}, "P8", "c was accepted and then told"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := good()
			c.spoil(&e)
			for _, l := range audit(e) {
				if l.promise == c.broken && strings.Contains(strings.Join(l.broken, "\n"), c.finds) {
					return
				}
			}
			t.Errorf("%s with %q is not among %v", c.broken, c.finds, audit(e))
		})
	}
}

func TestWhatTheDesignAllowsIsNotCalledBroken(t *testing.T) {
	t.Run("a winner's other click without a key may be told sold out", func(t *testing.T) {
		e := good()
		e.results[3] = result{buyer: 2, verdict: soldOut}
		if lines := audit(e); !allHold(lines) {
			t.Errorf("broken: %v", lines)
		}
	})
	t.Run("a buyer whose answer was lost finds the order by asking for it", func(t *testing.T) {
		e := good()
		e.results[3] = result{buyer: 2, verdict: soldOut, tries: 2}
		e.results[4] = result{buyer: 2, verdict: soldOut, tries: 2}
		if lines := audit(e); !allHold(lines) {
			t.Errorf("broken: %v", lines)
		}
	})
	t.Run("a loser who had to repeat a click asks in vain", func(t *testing.T) {
		e := good()
		e.results[5].tries = 2
		e.sightings = append(e.sightings, sighting{buyer: 3})
		if lines := audit(e); !allHold(lines) {
			t.Errorf("broken: %v", lines)
		}
	})
	t.Run("fewer buyers than bottles leave some", func(t *testing.T) {
		e := good()
		e.crowd, e.results = e.crowd[:3], e.results[:5]
		e.stock, e.books.seeded = 9, 9
		e.books.shards = map[int]shard{0: {stock: 3, seeded: 5}, 1: {stock: 3, seeded: 4}}
		if lines := audit(e); !allHold(lines) {
			t.Errorf("broken: %v", lines)
		}
	})
}
