package main

import (
	"fmt"
	"io"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"flashsale/infra/kit/client"
)

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
func printRush(w io.Writer, visits []visit, t *tally) {
	clicks, requests := 0, int64(0)
	for _, v := range visits {
		clicks += v.clicks
	}
	for _, n := range t.all {
		requests += n
	}
	fmt.Fprintf(w, "answers to %s clicks\n", thousands(clicks))
	rest := int64(clicks)
	say := func(n int64, what string) {
		fmt.Fprintf(w, "  %9s  %s\n", thousands(int(n)), what)
		rest -= n
	}
	say(t.finals[client.Accepted], "accepted: the buyer has a bottle")
	say(t.finals[acceptedAgain], "accepted again: same Idempotency-Key, same answer, no second bottle")
	say(t.finals[client.AlreadyOrdered], "already ordered: another click of a buyer who has a bottle")
	say(t.finals[client.SoldOut], "sold out")
	if rest > 0 {
		say(rest, "no answer, or one that is not in the API's contract")
	}
	if repeats := requests - int64(clicks); repeats > 0 {
		fmt.Fprintf(w, "  (%s requests were retried after a failure or an answer such as \"busy\")\n", thousands(int(repeats)))
	}
}

// thousands formats 1234567 as 1,234,567.
func thousands(n int) string { return message.NewPrinter(language.English).Sprint(n) }
