package load

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
)

// report is what a run reports, on a terminal and, with what each second had, in a file as JSON.
type report struct {
	Title     string       `json:"title"`
	Settings  settings     `json:"settings"`
	Took      float64      `json:"took"` // seconds
	Latencies []latencyRow `json:"latencies"`
	// Outcomes counts all purchase requests, Polls those of the status resource, and Orders what became of the
	// orders of a sale that asks for payment.
	Outcomes    counts          `json:"outcomes"`
	Polls       counts          `json:"polls"`
	Orders      counts          `json:"orders"`
	Seconds     []secondRow     `json:"seconds"`
	Accepted    int64           `json:"accepted"`
	Most        int64           `json:"mostAcceptedInASecond"`
	Confirmed   int64           `json:"confirmed"`
	GivenUp     int64           `json:"givenUp"`
	Unconfirmed int64           `json:"unconfirmed"` // in time
	Findings    []books.Finding `json:"findings"`
	Receipt     string          `json:"receipt"`
	Broken      bool            `json:"broken"`
}

// latencyRow is a distribution in milliseconds.
type latencyRow struct {
	Name  string  `json:"name"`
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99.9"`
	Max   float64 `json:"max"`
}

// secondRow is one second: the latencies of the clicks that were intended in it, and the answers that came in it.
type secondRow struct {
	Click   latencyRow `json:"click"`
	Queue   latencyRow `json:"queue"`
	Answers counts     `json:"answers"`
}

// mostFindings bounds the printed findings: a broken promise tends to affect thousands of buyers.
const mostFindings = 20

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\n%-27s %9s %9s %9s %9s %9s %9s\n", "ms from the intended time", "count", "p50", "p90", "p99", "p99.9", "max")
	for _, l := range r.Latencies {
		fmt.Fprintf(w, "%-27s %9d %9.1f %9.1f %9.1f %9.1f %9.1f\n", l.Name, l.Count, l.P50, l.P90, l.P99, l.P999, l.Max)
	}
	fmt.Fprintf(w, "\naccepted %d (most in a second: %d), order ids seen %d, gave up %d, no order id in time %d, took %.1f s\n",
		r.Accepted, r.Most, r.Confirmed, r.GivenUp, r.Unconfirmed, r.Took)
	r.Outcomes.print(w)
	if len(r.Orders) > 0 {
		fmt.Fprintln(w, "orders and late payments:")
		r.Orders.print(w)
	}
	fmt.Fprintf(w, "\n%s\n", cmp.Or(r.Receipt, "no receipt"))
	if len(r.Findings) == 0 {
		fmt.Fprintln(w, "no broken promise was seen")
		return
	}
	books.PrintList(w, "BROKEN:", r.Findings[:min(len(r.Findings), mostFindings)])
	if more := len(r.Findings) - mostFindings; more > 0 {
		fmt.Fprintf(w, "  - and %d more\n", more)
	}
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// report closes the tally, to which nothing may be added afterwards, and returns what it has.
func (t *tally) report(title string, with settings, findings []books.Finding) report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := report{
		Title: title, Settings: with, Took: time.Since(t.start).Seconds(), Outcomes: t.all, Polls: t.polls, Orders: t.orders,
		Accepted: t.all[client.Accepted], Confirmed: t.latest[toOrderID].h.TotalCount(),
		GivenUp: t.givenUp, Unconfirmed: t.lost, Findings: findings,
	}
	for i, l := range t.latest {
		if i != webhookAnswer || l.h.TotalCount() > 0 {
			r.Latencies = append(r.Latencies, l.row(measured[i]))
		}
	}
	for _, s := range t.seconds {
		r.Most = max(r.Most, s.counts[client.Accepted])
		r.Seconds = append(r.Seconds, secondRow{s.click.row("click"), s.queue.row("queue"), s.counts})
	}
	return r
}
