package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
)

// evidence holds the inputs of the receipt: the answers to the crowd and the books.
type evidence struct {
	stock, shards int
	crowd         []rush.Buyer
	results       []rush.Result
	sightings     []rush.Sighting
	books         *books.Sale
	findings      []books.Finding // from the recount
	// endedAt is when the books were read.
	endedAt time.Time
}

// line is one promise on the receipt. The promise holds if broken is empty.
type line struct {
	promise, says, figure string
	broken                []string
}

func (l *line) breaks(format string, args ...any) {
	l.broken = append(l.broken, fmt.Sprintf(format, args...))
}

func allHold(lines []line) bool {
	return !slices.ContainsFunc(lines, func(l line) bool { return len(l.broken) > 0 })
}

// audit checks every promise that one rush can test. It has no side effects.
func audit(e evidence) []line {
	h := verdict.New(verdict.Sale{Units: int64(e.stock), Shards: e.shards, Own: true, Steady: true})
	rush.Tell(h, e.crowd, e.results, e.sightings)
	accepted, refused, repeats := e.clicks()
	lines := []line{
		{promise: "P1", says: "sold exactly min(stock, buyers)",
			figure: thousands(len(e.books.Claims)) + " of " + thousands(min(e.stock, len(e.crowd))) + " bottles"},
		{promise: "P2", says: "left + sold = stock, on every shard",
			figure: fmt.Sprintf("%s + %s = %s bottles", thousands(int(e.books.Stock())), thousands(len(e.books.Claims)), thousands(int(e.books.Seeded)))},
		{promise: "P3", says: "one order per buyer, however they click", figure: e.distinct(func(c books.Claim) string { return c.User }) + " buyers"},
		{promise: "P4", says: "every accepted click is in the table", figure: thousands(accepted) + " accepted clicks"},
		{promise: "P5 P6", says: "every other click got a true refusal", figure: thousands(refused) + " refused clicks"},
		{promise: "P9", says: "same Idempotency-Key, same answer", figure: thousands(repeats) + " repeated clicks"},
		{promise: "P7", says: "one order id per order, all different", figure: e.distinct(func(c books.Claim) string { return c.OrderID }) + " order ids"},
		{promise: "P7", says: "order ids rise with confirmation time", figure: e.duration()},
		{promise: "P8", says: "every accepted order is confirmed", figure: thousands(e.pending()) + " orders pending"},
	}
	for _, f := range slices.Concat(e.findings, h.Findings(), h.Compare(e.books)) {
		enter(lines, f)
	}
	rising := &lines[slices.IndexFunc(lines, func(l line) bool { return strings.HasPrefix(l.says, "order ids rise") })]
	for _, f := range h.CompareOrder(e.books, e.endedAt) {
		rising.breaks("%s", f.Text)
	}
	return lines
}

// enter adds a finding to the first line of its promise, or to that of P2 if it has none.
func enter(lines []line, f books.Finding) {
	for i := range lines {
		if slices.Contains(strings.Fields(lines[i].promise), f.Promise) {
			lines[i].breaks("%s", f.Text)
			return
		}
	}
	lines[slices.IndexFunc(lines, func(l line) bool { return l.promise == "P2" })].breaks("%s", f)
}

// clicks counts the acceptances, the refusals and, among the acceptances, the repeats with the
// same key.
func (e *evidence) clicks() (accepted, refused, repeats int) {
	won := map[int]bool{}
	for _, r := range e.results {
		switch r.Outcome {
		case client.Accepted:
			if accepted++; won[r.Buyer] && e.crowd[r.Buyer].Key != "" {
				repeats++
			}
			won[r.Buyer] = true
		case client.AlreadyOrdered, client.SoldOut:
			refused++
		}
	}
	return accepted, refused, repeats
}

// distinct counts the claims with different values, without those whose value is empty.
func (e *evidence) distinct(of func(books.Claim) string) string {
	values := map[string]bool{}
	for _, c := range e.books.Claims {
		values[of(c)] = true
	}
	delete(values, "")
	return thousands(len(values))
}

func (e *evidence) pending() (n int) {
	for _, c := range e.books.Claims {
		if c.OrderID == "" {
			n++
		}
	}
	return n
}

// duration is the time from the first order id to the last.
func (e *evidence) duration() string {
	confirmed := slices.DeleteFunc(slices.Clone(e.books.Claims), func(c books.Claim) bool { return c.OrderID == "" })
	if len(confirmed) == 0 {
		return "no order ids"
	}
	byTime := func(a, b books.Claim) int { return cmp.Compare(a.ConfirmedAt.Unix(), b.ConfirmedAt.Unix()) }
	first, last := slices.MinFunc(confirmed, byTime), slices.MaxFunc(confirmed, byTime)
	return fmt.Sprintf("within %.0f s", (last.ConfirmedAt.Sub(first.ConfirmedAt) + time.Second).Seconds())
}
