package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// examples is how many findings of one promise are printed.
const examples = 5

// printReceipt writes what is broken and, last, the receipt, within 80 columns.
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
	fmt.Fprintf(w, "\nreceipt of sale %s: what the README promises, and what was counted\n", saleID)
	for _, l := range lines {
		verdict := "ok"
		if len(l.broken) > 0 {
			verdict = "BROKEN"
		}
		fmt.Fprintf(w, "  %-5s  %-40s  %21s  %s\n", l.promise, l.says, l.figure, verdict)
	}
}

// printRush says what the clicks were answered: each answer, how many clicks got it, and what
// it means.
func printRush(w io.Writer, results []result) {
	count, winners, repeats := map[verdict]int{}, map[string]bool{}, 0
	for _, r := range results {
		count[r.verdict]++
		repeats += max(0, r.tries-1)
		if r.verdict == accepted {
			winners[r.reply.Claim.ClaimID] = true
		}
	}
	fmt.Fprintf(w, "answers to %s clicks\n", thousands(len(results)))
	say := func(n int, what string) { fmt.Fprintf(w, "  %9s  %s\n", thousands(n), what) }
	say(len(winners), "accepted: the buyer has a bottle")
	say(count[accepted]-len(winners), "accepted again: the same Idempotency-Key, the same answer, no second bottle")
	say(count[alreadyOrdered], "already ordered: another click of a buyer who has a bottle")
	say(count[soldOut], "sold out")
	if n := count[unanswered] + count[unexpected]; n > 0 {
		say(n, "no answer, or one that the API does not have")
	}
	if repeats > 0 {
		fmt.Fprintf(w, "  (%s requests were sent again, as a busy system asks for)\n", thousands(repeats))
	}
}

// printPace is information only: it says more about the machine than about the
// system, and no promise hangs on it.
func printPace(w io.Writer, startedAt time.Time, results []result, sightings []sighting) {
	var took []time.Duration
	var firstWins, confirmed int
	rushed, lastWin, settled := startedAt, startedAt, startedAt
	won := map[string]bool{}
	for _, r := range results {
		took = append(took, r.took...)
		rushed = later(rushed, r.answered)
		if id := r.reply.Claim.ClaimID; r.verdict == accepted && !won[id] {
			won[id] = true
			firstWins++
			lastWin = later(lastWin, r.answered)
		}
	}
	for _, s := range sightings {
		if s.orderID != "" {
			confirmed++
			settled = later(settled, s.confirmedBy)
		}
	}
	fmt.Fprintf(w, "speed on this machine, which no promise depends on\n"+
		"  %9s  for half of the answers, at most; %s for 99 %% of them\n"+
		"  %9s  answers a second\n  %9s  bottles sold a second, until the last one was\n  %9s  orders confirmed a second, from the first click on\n",
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

// percentile is the smallest of ds that p percent of them do not exceed.
func percentile(ds []time.Duration, p int) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(ds))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

// thousands writes 1234567 as 1,234,567.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
