package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/verdict"
)

// testSale is one sale of a round, with its buyers and the answers that they got.
type testSale struct {
	id       string
	shards   int
	stock    int   // at its creation
	restocks []int // units of each later batch
	buyers   []*buyer
	answers  *verdict.History
	// asksForPayment: its buyers have payment plans.
	asksForPayment bool
}

// newTestSale makes a random sale, usually with more buyers than units.
func newTestSale(chance *rand.Rand, id string, buyers int, chaos time.Duration, asksForPayment bool) *testSale {
	e := &testSale{id: id, shards: []int{1, 2, 4, 8}[chance.IntN(4)], asksForPayment: asksForPayment}
	units := buyers * (30 + chance.IntN(50)) / 100
	if chance.IntN(6) == 0 {
		units = buyers + 10
	}
	for range chance.IntN(3) {
		e.restocks = append(e.restocks, 1+units/6)
		units -= 1 + units/6
	}
	e.stock = max(units, 10*e.shards)
	e.answers = verdict.New(verdict.Sale{Units: e.seeded(), Shards: e.shards, Own: true, AsksForPayment: asksForPayment})
	for i := range buyers {
		b := &buyer{
			name:   fmt.Sprintf("buyer-%d", i),
			clicks: 1 + chance.IntN(3), readsOrder: chance.IntN(2) == 0,
			arrives: time.Duration(chance.Int64N(int64(chaos * 3 / 4))),
			again:   200*time.Millisecond + time.Duration(chance.Int64N(int64(time.Second))),
		}
		if chance.IntN(2) == 0 {
			b.key = fmt.Sprintf("key-%d", i)
		}
		if asksForPayment {
			b.paymentPlan = newPaymentPlan(chance, id, b.name)
		}
		e.buyers = append(e.buyers, b)
	}
	return e
}

// seeded is the total number of units that the sale got.
func (e *testSale) seeded() int64 {
	sum := e.stock
	for _, units := range e.restocks {
		sum += units
	}
	return int64(sum)
}

// unanswered notes a request that got no answer within its time.
func (e *testSale) unanswered(who string) {
	e.answers.Unanswered(who, fmt.Sprintf("none within %v after the last kill", answerTime))
}

// create creates the sale, with as many tries as that takes.
func (e *testSale) create(ctx context.Context, c *client.Client, now time.Time) bool {
	request := map[string]any{
		"action": "create", "saleId": e.id, "stock": e.stock, "shards": e.shards,
		"opensAt": now.Add(-time.Minute).UTC().Format(time.RFC3339), "closesAt": now.Add(24 * time.Hour).UTC().Format(time.RFC3339),
	}
	if e.asksForPayment {
		request["payWithin"], request["price"], request["currency"] = payWithin/time.Second, price, currency
		e.answers.Restocked(verdict.Span{From: now, Until: now.Add(24 * time.Hour)}) // units may come back at any time
	}
	return e.seed(ctx, c, request)
}

// restock adds batch i.
func (e *testSale) restock(ctx context.Context, c *client.Client, i int) bool {
	from := time.Now()
	done := e.seed(ctx, c, map[string]any{
		"action": "add", "saleId": e.id, "seedId": fmt.Sprintf("batch-%d", i), "stock": e.restocks[i],
	})
	e.answers.Restocked(verdict.Span{From: from, Until: time.Now()})
	return done
}

// seed repeats one seeding request until it succeeds. A kill may cause any failure; a lasting
// failure is a violation (P9, P15).
func (e *testSale) seed(ctx context.Context, c *client.Client, request map[string]any) bool {
	for {
		var answer struct{ SaleID string }
		err := c.Ask(ctx, client.SeedFunction, request, &answer)
		if err == nil && answer.SaleID == e.id {
			return true
		}
		if !pause(ctx, 50*time.Millisecond) {
			e.answers.Report("P15", "the seeding %v did not succeed; the last try: %v %+v", request, err, answer)
			return false
		}
	}
}

// audit recounts a sale without requests in progress, and compares it with all answers to its
// buyers.
func (e *testSale) audit(ctx context.Context, all *books.Books) []books.Finding {
	receipt, err := all.Recount(ctx, e.id, books.Options{Overdue: books.AtOnce})
	if err != nil {
		return []books.Finding{{Promise: "P11", Text: "the sale is not in the table: " + err.Error()}}
	}
	return slices.Concat(receipt.Findings, e.answers.Compare(all.Sale(e.id)))
}
