package main

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// sold returns a sale with two shards and 5 units, three of them sold, and its stored form.
func sold() (*testSale, *books.Sale) {
	e := &testSale{id: "s", shards: 2, stock: 4, restocks: []int{1}, answers: newHistory()}
	for _, name := range []string{"ann", "bob", "cat", "dan"} {
		e.buyers = append(e.buyers, &buyer{name: name})
	}
	e.answers.claims = map[string]string{"ann": "c1", "bob": "c2", "cat": "c3"}
	e.answers.orders = map[string]string{"ann": "101"}
	return e, &books.Sale{
		Seeded: 5, Open: true, Shards: map[int]books.Shard{0: {Stock: 2, Seeded: 3}, 1: {Stock: 0, Seeded: 2}},
		Claims: []books.Claim{
			{User: "ann", ClaimID: "c1", Shard: 0, AcceptedAt: noon, OrderID: "101"},
			{User: "bob", ClaimID: "c2", Shard: 1, AcceptedAt: noon, OrderID: "102"},
			{User: "cat", ClaimID: "c3", Shard: 0, AcceptedAt: noon.Add(time.Second), OrderID: "103"},
		},
		Orders: map[string]books.Order{
			"101": {ID: "101", User: "ann", ClaimID: "c1"}, "102": {ID: "102", User: "bob", ClaimID: "c2"}, "103": {ID: "103", User: "cat", ClaimID: "c3"},
		},
	}
}

func TestSoundBooksHaveNoFindings(t *testing.T) {
	e, s := sold()
	e.answers.refusals = []refusal{{"dan", true, span{noon.Add(time.Second), noon.Add(2 * time.Second)}}}
	e.answers.restocked(span{noon.Add(time.Hour), noon.Add(time.Hour)})
	if found := e.compare(s); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

func TestEveryViolationIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		tamper func(e *testSale, s *books.Sale)
		want   string
	}{
		"a batch added twice":       {func(_ *testSale, s *books.Sale) { s.Seeded = 6 }, "6 units were seeded, want 5 (P15)"},
		"a shard is missing":        {func(_ *testSale, s *books.Sale) { delete(s.Shards, 0) }, "1 shards, want 2"},
		"a promise without a claim": {func(e *testSale, _ *books.Sale) { e.answers.claims["dan"] = "c4" }, "dan got claim c4"},
		"a promise of another":      {func(e *testSale, _ *books.Sale) { e.answers.claims["ann"] = "c9" }, "ann got claim c9"},
		"another order was told":    {func(e *testSale, _ *books.Sale) { e.answers.orders["ann"] = "102" }, "ann got order 102"},
		"a winner never heard":      {func(e *testSale, _ *books.Sale) { delete(e.answers.claims, "bob") }, "bob has claim c2 but never got it"},
		"a claim of nobody":         {func(e *testSale, _ *books.Sale) { e.buyers = e.buyers[1:] }, "ann never ordered"},
		"a unit bought after the sale was sold out": {func(e *testSale, _ *books.Sale) {
			e.answers.refusals = []refusal{{"dan", false, span{noon.Add(-time.Second), noon.Add(time.Second / 2)}}}
		}, "cat got a unit"},
		"a winner's own key refused": {func(e *testSale, _ *books.Sale) {
			e.answers.refusals = []refusal{{"ann", true, span{noon.Add(time.Minute), noon.Add(time.Minute)}}}
		}, "got sold-out for the same key"},
	} {
		t.Run(name, func(t *testing.T) {
			e, s := sold()
			c.tamper(e, s)
			if found := strings.Join(e.compare(s), "\n"); !strings.Contains(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
	t.Run("the whole sale is lost", func(t *testing.T) {
		e, _ := sold()
		if found := e.audit(t.Context(), books.Of(nil)); len(found) != 1 || !strings.Contains(found[0], "(P11)") {
			t.Errorf("found %q", found)
		}
	})
	t.Run("a finding of the recount", func(t *testing.T) {
		e, _ := sold()
		text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
		all := books.Of([]map[string]types.AttributeValue{{"pk": text("SALE#s"), "sk": text("SALE")}})
		if found := strings.Join(e.audit(t.Context(), all), "\n"); !strings.Contains(found, "the CREATE item is missing") {
			t.Errorf("found %q", found)
		}
	})
}

func TestSoldOutWhileUnitsAreLeftIsAViolation(t *testing.T) {
	e, s := sold()
	at := time.Now().Add(-time.Hour)
	e.answers.refusals = []refusal{{"dan", false, span{at, at}}}
	if found := e.compare(s); len(found) != 1 || !strings.Contains(found[0], "2 units are left (P6)") {
		t.Errorf("found %q", found)
	}
	e.answers.restocked(span{at.Add(-time.Second), at.Add(-time.Second)})
	if found := e.compare(s); len(found) > 0 {
		t.Errorf("with a restock just before, found %q", found)
	}
}

func TestARestockExcusesAnEarlierRefusal(t *testing.T) {
	e, s := sold()
	e.answers.refusals = []refusal{{"dan", false, span{noon.Add(-time.Second), noon.Add(time.Second / 2)}}}
	e.answers.restocked(span{noon.Add(3 * time.Second / 4), noon.Add(time.Hour)})
	if found := e.compare(s); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

func TestAHistoryNotesContradictions(t *testing.T) {
	first := client.Claim{ClaimID: "c1", SaleID: "s", State: "CONFIRMED", OrderID: "101"}
	for name, c := range map[string]struct {
		second   client.Claim
		problems int
	}{
		"the same again":                 {first, 0},
		"less is known, not denied":      {client.Claim{ClaimID: "c1", SaleID: "s", State: "PENDING"}, 0},
		"another claim":                  {client.Claim{ClaimID: "c2", SaleID: "s", State: "PENDING"}, 1},
		"a state that is new":            {client.Claim{ClaimID: "c1", SaleID: "s", State: "SHIPPED", OrderID: "101"}, 0},
		"another order":                  {client.Claim{ClaimID: "c1", SaleID: "s", State: "CONFIRMED", OrderID: "102"}, 1},
		"another sale":                   {client.Claim{ClaimID: "c1", SaleID: "t", State: "PENDING"}, 1},
		"no claim":                       {client.Claim{SaleID: "s", State: "PENDING"}, 1},
		"confirmed without an order":     {client.Claim{ClaimID: "c1", SaleID: "s", State: "CONFIRMED"}, 1},
		"an order that is not confirmed": {client.Claim{ClaimID: "c1", SaleID: "s", State: "PENDING", OrderID: "101"}, 1},
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
