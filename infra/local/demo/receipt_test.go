package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
	"flashsale/infra/kit/verdict"
)

var start = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// good returns the evidence of a faultless rush: a, who has a key, bought the only bottle, and
// b and c got none.
func good() evidence {
	at := func(minutes time.Duration) verdict.Span {
		return verdict.Span{From: start.Add(minutes * time.Minute), Until: start.Add(minutes * time.Minute)}
	}
	h := verdict.New(verdict.Sale{Units: 1, Shards: 1, Steady: true})
	tally := newTally()
	click := func(user string, o client.Outcome, a client.Answer) {
		if h.Clicked(user, user == "a", at(1), o, a) {
			o = rush.AcceptedAgain
		}
		tally.seen(rush.Try{Outcome: o, Final: true})
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
	e := good()
	var out bytes.Buffer
	printRush(&out, []rush.Buyer{{Clicks: 2}, {Clicks: 1}, {Clicks: 2}}, e.tally)
	printReceipt(&out, "demo-x", audit(e))
	want := `answers to 5 clicks
          1  accepted: the buyer has a bottle
          1  accepted again: same Idempotency-Key, same answer, no second bottle
          0  already ordered: another click of a buyer who has a bottle
          2  sold out
          1  no answer, or one that is not in the API's contract

receipt of sale demo-x: the README's promises and the counts
  P1     sold exactly min(stock, buyers)                  1 of 1 bottles  ok
  P2     left + sold = stock, on every shard           0 + 1 = 1 bottles  ok
  P3     one order per buyer, however they click                1 buyers  ok
  P4     every accepted click is in the table          2 accepted clicks  ok
  P5 P6  every other click got a true refusal           2 refused clicks  ok
  P9     same Idempotency-Key, same answer             1 repeated clicks  ok
  P7     one order id per order, all different               1 order ids  ok
  P7     order ids rise with confirmation time                within 1 s  ok
  P8     every accepted order is confirmed              0 orders pending  ok
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFindingIsOnTheLineOfItsPromise(t *testing.T) {
	for name, c := range map[string]struct {
		spoil         func(e *evidence)
		promise, find string
	}{
		"a finding of the recount":        {func(e *evidence) { e.findings = []books.Finding{{Promise: "P8", Text: "something"}} }, "P8", "something"},
		"one of a promise without a line": {func(e *evidence) { e.findings = []books.Finding{{Promise: "P14", Text: "something"}} }, "P2", "something (P14)"},
		"one of the table":                {func(e *evidence) { e.books.Shards[1] = books.Shard{} }, "P2", "2 shards are stored"},
		"a click without an answer":       {func(e *evidence) { e.history.Unanswered("b", "no route") }, "P5 P6", "a click of b has no answer: no route"},
		"an order id that does not rise":  {func(e *evidence) { e.books.Claims[0].AcceptedAt = start.Add(time.Second) }, "P7", "has the time 12:00:00"},
		"many":                            {func(e *evidence) { e.findings = slices.Repeat([]books.Finding{{Promise: "P1"}}, examples+7) }, "P1", "and 7 more"},
	} {
		e := good()
		c.spoil(&e)
		var out bytes.Buffer
		printReceipt(&out, "demo-x", audit(e))
		findings, table, _ := strings.Cut(out.String(), "\nreceipt of sale demo-x")
		if broken := regexp.MustCompile(`(?m)^  ` + c.promise + ` .*BROKEN$`); !strings.Contains("\n"+findings, "\n"+c.promise+": ") || !strings.Contains(findings, c.find) || !broken.MatchString(table) {
			t.Errorf("%s: no finding of %s with %q in\n%s", name, c.promise, c.find, &out)
		}
	}
}
