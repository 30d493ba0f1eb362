package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
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
func printRush(w io.Writer, results []rush.Result) {
	count, winners, repeats := map[client.Outcome]int{}, map[string]bool{}, 0
	for _, r := range results {
		count[r.Outcome]++
		repeats += max(0, r.Tries-1)
		if r.Outcome == client.Accepted {
			winners[r.Reply.Claim.ClaimID] = true
		}
	}
	fmt.Fprintf(w, "answers to %s clicks\n", thousands(len(results)))
	say := func(n int, what string) { fmt.Fprintf(w, "  %9s  %s\n", thousands(n), what) }
	say(len(winners), "accepted: the buyer has a bottle")
	say(count[client.Accepted]-len(winners), "accepted again: same Idempotency-Key, same answer, no second bottle")
	say(count[client.AlreadyOrdered], "already ordered: another click of a buyer who has a bottle")
	say(count[client.SoldOut], "sold out")
	if n := len(results) - count[client.Accepted] - count[client.AlreadyOrdered] - count[client.SoldOut]; n > 0 {
		say(n, "no answer, or one that is not in the API's contract")
	}
	if repeats > 0 {
		fmt.Fprintf(w, "  (%s requests were retried after a failure or an answer such as \"busy\")\n", thousands(repeats))
	}
}

// printPace prints speeds for information: they depend more on the machine than on the
// system, and no promise depends on them.
func printPace(w io.Writer, startedAt time.Time, results []rush.Result, sightings []rush.Sighting) {
	var took []time.Duration
	var firstWins, confirmed int
	rushed, lastWin, settled := startedAt, startedAt, startedAt
	won := map[string]bool{}
	for _, r := range results {
		took = append(took, r.Took...)
		rushed = later(rushed, r.Answered)
		if id := r.Reply.Claim.ClaimID; r.Outcome == client.Accepted && !won[id] {
			won[id] = true
			firstWins++
			lastWin = later(lastWin, r.Answered)
		}
	}
	for _, s := range sightings {
		if s.Confirmed() {
			confirmed++
			settled = later(settled, s.Answered)
		}
	}
	fmt.Fprintf(w, "speed on this machine (no promise depends on it)\n"+
		"  %9s  or less for half of the answers; %s or less for 99 %%\n"+
		"  %9s  answers a second\n  %9s  bottles sold a second, until the last was sold\n  %9s  orders confirmed a second, from the first click\n",
		round(percentile(took, 50)), round(percentile(took, 99)), rate(len(took), rushed.Sub(startedAt)),
		rate(firstWins, lastWin.Sub(startedAt)), rate(confirmed, settled.Sub(startedAt)))
}

func round(d time.Duration) string { return fmt.Sprintf("%.1f ms", 1000*d.Seconds()) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func rate(n int, d time.Duration) string {
	if n == 0 || d <= 0 {
		return "0"
	}
	return thousands(int(float64(n)/d.Seconds() + 0.5))
}

// percentile returns the smallest of ds that at least p percent of ds do not exceed.
func percentile(ds []time.Duration, p int) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(ds))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// thousands formats 1234567 as 1,234,567.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
