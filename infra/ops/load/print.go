package main

import (
	"fmt"
	"io"
	"time"

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

// printPace prints speeds for information: they depend more on the machine than on the
// system, and no promise depends on them.
func printPace(w io.Writer, t *tally) {
	fmt.Fprintf(w, "speed on this machine (no promise depends on it)\n"+
		"  %9s  or less from the click to half of the answers; %s or less to 99 %%\n"+
		"  %9s  answers a second\n  %9s  bottles sold a second, until the last was sold\n  %9s  orders confirmed a second, from the first click\n",
		ms(t.finalAnswer.at(50)), ms(t.finalAnswer.at(99)), rate(t.finalAnswer.count(), t.lastAnswer),
		rate(t.finals[client.Accepted], t.lastSold), rate(t.toOrderID.count(), t.lastConfirmed))
}

func rate(n int64, d time.Duration) string {
	if n == 0 || d <= 0 {
		return "0"
	}
	return thousands(int(float64(n)/d.Seconds() + 0.5))
}

// thousands formats 1234567 as 1,234,567.
func thousands(n int) string { return message.NewPrinter(language.English).Sprint(n) }
