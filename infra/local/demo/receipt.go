package main

import (
	"cmp"
	"fmt"
	"io"
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
	buyers   int
	history  *verdict.History
	tally    *tally
	books    *books.Sale
	findings []books.Finding // from the recount
	readAt   time.Time
}

// line is one promise on the receipt. The promise holds if broken is empty.
type line struct {
	promise, says, figure string
	broken                []string
}

func (l *line) breaks(format string, args ...any) {
	l.broken = append(l.broken, fmt.Sprintf(format, args...))
}

// audit checks every promise that one rush can test. It has no side effects.
func audit(e evidence) []line {
	told := func(outcomes ...client.Outcome) string {
		n := 0
		for _, o := range outcomes {
			n += e.tally.finals[o]
		}
		return fmt.Sprint(n)
	}
	lines := []line{
		{promise: "P1", says: "sold exactly min(stock, buyers)",
			figure: fmt.Sprintf("%d of %d bottles", len(e.books.Claims), min(int(e.books.Seeded), e.buyers))},
		{promise: "P2", says: "left + sold = stock, on every shard",
			figure: fmt.Sprintf("%d + %d = %d bottles", e.books.Stock(), len(e.books.Claims), e.books.Seeded)},
		{promise: "P3", says: "one order per buyer, however they click", figure: e.distinct(func(c books.Claim) string { return c.User }) + " buyers"},
		{promise: "P4", says: "every accepted click is in the table", figure: told(client.Accepted, rush.AcceptedAgain) + " accepted clicks"},
		{promise: "P5 P6", says: "every other click got a true refusal", figure: told(client.AlreadyOrdered, client.SoldOut) + " refused clicks"},
		{promise: "P9", says: "same Idempotency-Key, same answer", figure: told(rush.AcceptedAgain) + " repeated clicks"},
		{promise: "P7", says: "one order id per order, all different", figure: e.distinct(func(c books.Claim) string { return c.OrderID }) + " order ids"},
		{promise: "P7", says: "order ids rise with confirmation time", figure: e.duration()},
		{promise: "P8", says: "every accepted order is confirmed", figure: fmt.Sprintf("%d orders pending", e.pending())},
	}
	of := func(promise string) int {
		return slices.IndexFunc(lines, func(l line) bool { return slices.Contains(strings.Fields(l.promise), promise) })
	}
	for _, f := range slices.Concat(e.findings, e.history.Findings(), e.history.Compare(e.books)) {
		if i := of(f.Promise); i >= 0 {
			lines[i].breaks("%s", f.Text)
		} else {
			lines[of("P2")].breaks("%s", f)
		}
	}
	rising := &lines[slices.IndexFunc(lines, func(l line) bool { return strings.HasPrefix(l.says, "order ids rise") })]
	for _, f := range e.history.CompareOrder(e.books, e.readAt) {
		rising.breaks("%s", f.Text)
	}
	return lines
}

// distinct counts the claims with different values, without those whose value is empty.
func (e *evidence) distinct(of func(books.Claim) string) string {
	values := map[string]bool{}
	for _, c := range e.books.Claims {
		values[of(c)] = true
	}
	delete(values, "")
	return fmt.Sprint(len(values))
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

// examples is how many findings of one promise are printed.
const examples = 5

// printReceipt writes the findings and then the receipt, at most 80 columns wide.
func printReceipt(w io.Writer, saleID string, lines []line) {
	for _, l := range lines {
		for i, b := range l.broken {
			if i == examples {
				fmt.Fprintf(w, "%s: and %d more\n", l.promise, len(l.broken)-examples)
				break
			}
			fmt.Fprintf(w, "%s: %s\n", l.promise, b)
		}
	}
	fmt.Fprintf(w, "\nreceipt of sale %s: the README's promises and the counts\n", saleID)
	for _, l := range lines {
		verdict := "ok"
		if len(l.broken) > 0 {
			verdict = "BROKEN"
		}
		fmt.Fprintf(w, "  %-5s  %-40s  %21s  %s\n", l.promise, l.says, l.figure, verdict)
	}
}

// printRush writes how many clicks got each answer and what the answer means.
func printRush(w io.Writer, crowd []rush.Buyer, t *tally) {
	clicks, requests := rush.TotalClicks(crowd), 0
	for _, n := range t.all {
		requests += n
	}
	fmt.Fprintf(w, "answers to %d clicks\n", clicks)
	rest := clicks
	say := func(n int, what string) {
		fmt.Fprintf(w, "  %9d  %s\n", n, what)
		rest -= n
	}
	say(t.finals[client.Accepted], "accepted: the buyer has a bottle")
	say(t.finals[rush.AcceptedAgain], "accepted again: same Idempotency-Key, same answer, no second bottle")
	say(t.finals[client.AlreadyOrdered], "already ordered: another click of a buyer who has a bottle")
	say(t.finals[client.SoldOut], "sold out")
	if rest > 0 {
		say(rest, "no answer, or one that is not in the API's contract")
	}
	if repeats := requests - clicks; repeats > 0 {
		fmt.Fprintf(w, "  (%d requests were retried after a failure or an answer such as \"busy\")\n", repeats)
	}
}
