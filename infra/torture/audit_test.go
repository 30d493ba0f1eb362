package main

import (
	"strings"
	"testing"
	"time"

	"flashsale/infra/replies"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// sold is a sale of two shards and 5 units, three of them sold, and its books.
func sold() (*event, *books) {
	e := &event{id: "s", shards: 2, stock: 4, restocks: []int{1}, told: newHistory()}
	for _, name := range []string{"ann", "bob", "cat", "dan"} {
		e.buyers = append(e.buyers, &buyer{name: name})
	}
	e.told.claims = map[string]string{"ann": "c1", "bob": "c2", "cat": "c3"}
	e.told.orders = map[string]string{"ann": "101"}
	return e, &books{
		seeded: 5, shardCount: 2, empty: []string{"1"},
		shards: map[string]shard{"0": {2, 3}, "1": {0, 2}},
		claims: []claim{
			{"ann", "c1", "0", noon, "101"}, {"bob", "c2", "1", noon, "102"}, {"cat", "c3", "1", noon.Add(time.Second), "103"},
		},
		orders: []order{{"101", "ann", "c1"}, {"102", "bob", "c2"}, {"103", "cat", "c3"}},
	}
}

func TestSoundBooksHaveNoFindings(t *testing.T) {
	e, b := sold()
	e.told.refusals = []refusal{{"dan", true, span{noon.Add(time.Second), noon.Add(2 * time.Second)}}}
	e.told.restocked(span{noon.Add(time.Hour), noon.Add(time.Hour)})
	if found := e.audit(b); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

func TestEveryViolationIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(e *event, b *books)
		want   string
	}{
		"stock below zero":  {func(_ *event, b *books) { b.shards["1"] = shard{-1, 2} }, "(P1)"},
		"a unit sold twice": {func(_ *event, b *books) { b.shards["0"] = shard{3, 3} }, "shard 0: 3 left + 1 claims, but 3 seeded (P2)"},
		"a unit lost":       {func(_ *event, b *books) { b.shards["0"] = shard{1, 3} }, "(P2)"},
		"an unknown shard":  {func(_ *event, b *books) { b.claims[0].shard = "7" }, "shard 7, which is not there (P2)"},
		"a batch added twice": {func(_ *event, b *books) {
			b.shards["0"], b.seeded = shard{3, 4}, 6
		}, "seeded 6 units and the sale says 6, want 5 (P15)"},
		"the sale's sum":           {func(_ *event, b *books) { b.seeded = 4 }, "(P15)"},
		"a shard is missing":       {func(_ *event, b *books) { delete(b.shards, "0") }, "1 shards"},
		"an empty shard has stock": {func(_ *event, b *books) { b.empty = []string{"0"} }, "shard 0 counts as empty"},
		"two claims of a user": {func(_ *event, b *books) {
			b.claims[1] = claim{"ann", "c2", "1", noon, "102"}
		}, "ann has two claims (P3)"},
		"never confirmed":           {func(_ *event, b *books) { b.claims[1].orderID = "" }, "c2 of bob is not confirmed (P8)"},
		"an order is missing":       {func(_ *event, b *books) { b.orders = b.orders[1:] }, "order 101 of ann is not in the table (P7)"},
		"an order of somebody else": {func(_ *event, b *books) { b.orders[0].user = "bob" }, "order 101 names bob"},
		"an order of another claim": {func(_ *event, b *books) { b.orders[0].claimID = "c2" }, "(P7)"},
		"an order shared by two":    {func(_ *event, b *books) { b.claims[1].orderID = "101" }, "belongs to two claims"},
		"an order without a claim": {func(_ *event, b *books) {
			b.orders = append(b.orders, order{"104", "dan", "c4"})
		}, "no claim names order 104"},
		"a promise without a claim": {func(e *event, _ *books) { e.told.claims["dan"] = "c4" }, "dan was told claim c4"},
		"a promise of another":      {func(e *event, _ *books) { e.told.claims["ann"] = "c9" }, "ann was told claim c9"},
		"another order was told":    {func(e *event, _ *books) { e.told.orders["ann"] = "102" }, "ann was told order 102"},
		"a winner never heard":      {func(e *event, _ *books) { delete(e.told.claims, "bob") }, "bob has claim c2 and was never told"},
		"a claim of nobody":         {func(e *event, _ *books) { e.buyers = e.buyers[1:] }, "ann never ordered"},
		"malformed items":           {func(_ *event, b *books) { b.malformed = []string{"x"} }, "malformed: x"},
		"a unit bought after the sale was sold out": {func(e *event, _ *books) {
			e.told.refusals = []refusal{{"dan", false, span{noon.Add(-time.Second), noon.Add(time.Second / 2)}}}
		}, "cat got a unit"},
		"a winner's own key refused": {func(e *event, _ *books) {
			e.told.refusals = []refusal{{"ann", true, span{noon.Add(time.Minute), noon.Add(time.Minute)}}}
		}, "told sold out to the same key"},
	} {
		t.Run(name, func(t *testing.T) {
			e, b := sold()
			c.tamper(e, b)
			if found := strings.Join(e.audit(b), "\n"); !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
	t.Run("the whole sale is lost", func(t *testing.T) {
		e, _ := sold()
		if found := e.audit(nil); len(found) != 1 {
			t.Errorf("found %q", found)
		}
	})
}

func TestNobodyIsToldSoldOutWhileUnitsAreLeft(t *testing.T) {
	e, b := sold()
	at := time.Now().Add(-time.Hour)
	e.told.refusals = []refusal{{"dan", false, span{at, at}}}
	if found := e.audit(b); len(found) != 1 || !strings.Contains(found[0], "2 units are left (P6)") {
		t.Errorf("found %q", found)
	}
	e.told.restocked(span{at.Add(-time.Second), at.Add(-time.Second)})
	if found := e.audit(b); len(found) > 0 {
		t.Errorf("with a restock just before, found %q", found)
	}
}

func TestARestockExcusesAnEarlierRefusal(t *testing.T) {
	e, b := sold()
	e.told.refusals = []refusal{{"dan", false, span{noon.Add(-time.Second), noon.Add(time.Second / 2)}}}
	e.told.restocked(span{noon.Add(3 * time.Second / 4), noon.Add(time.Hour)})
	if found := e.audit(b); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

func TestAHistoryNotesContradictions(t *testing.T) {
	first := replies.Claim{ClaimID: "c1", SaleID: "s", State: "CONFIRMED", OrderID: "101"}
	for name, c := range map[string]struct {
		second   replies.Claim
		problems int
	}{
		"the same again":                 {first, 0},
		"less is known, not denied":      {replies.Claim{ClaimID: "c1", SaleID: "s", State: "PENDING"}, 0},
		"another claim":                  {replies.Claim{ClaimID: "c2", SaleID: "s", State: "PENDING"}, 1},
		"another order":                  {replies.Claim{ClaimID: "c1", SaleID: "s", State: "CONFIRMED", OrderID: "102"}, 1},
		"another sale":                   {replies.Claim{ClaimID: "c1", SaleID: "t", State: "PENDING"}, 1},
		"no claim":                       {replies.Claim{SaleID: "s", State: "PENDING"}, 1},
		"confirmed without an order":     {replies.Claim{ClaimID: "c1", SaleID: "s", State: "CONFIRMED"}, 1},
		"an order that is not confirmed": {replies.Claim{ClaimID: "c1", SaleID: "s", State: "PENDING", OrderID: "101"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			h.accepted("ann", "s", first)
			h.accepted("ann", "s", c.second)
			if len(h.problems) != c.problems {
				t.Errorf("problems %q, want %d", h.problems, c.problems)
			}
		})
	}
}
