package load

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
)

// longestLatency is the histogram's maximum, in microseconds.
const longestLatency = int64(20 * time.Minute / time.Microsecond)

// latencies is a histogram of durations in microseconds with 2 significant digits (1 %);
// there is one for every second of a run.
type latencies struct{ *hdrhistogram.Histogram }

func newLatencies() latencies { return latencies{hdrhistogram.New(1, longestLatency, 2)} }

func (l latencies) record(d time.Duration) {
	// The value is clamped to the range, so this cannot fail.
	_ = l.RecordValue(min(max(d.Microseconds(), 1), longestLatency))
}

func (l latencies) at(quantile float64) time.Duration {
	return time.Duration(l.ValueAtQuantile(quantile)) * time.Microsecond
}

// What is measured, with the names in reports.
const (
	firstAnswer = iota
	finalAnswer
	toOrderID
	poll
	queue
)

var measured = []string{
	"click to first answer", "click to final answer", "click to order id seen", "status poll", "queueing in the generator",
}

// second holds the measurements of one second of a run.
type second struct {
	click  latencies // time to the first answer, by intended second
	queue  latencies // wait inside the generator, by intended second
	counts counts    // answers, by the second of their arrival
}

type counts map[client.Outcome]int64

// tally collects a run's measurements. It is safe for concurrent use.
type tally struct {
	visits []visit
	start  time.Time

	mu     sync.Mutex
	latest []latencies // as in measured
	// firsts counts the first outcomes of clicks by kind of buyer, all those of all purchase
	// requests, and polls those of the status resource.
	firsts        map[kind]counts
	all, polls    counts
	givenUp, lost int64
	seconds       []second
}

// newTally begins a run of these visits.
func newTally(visits []visit) *tally {
	t := &tally{visits: visits, start: time.Now(), firsts: map[kind]counts{}, all: counts{}, polls: counts{}}
	for range measured {
		t.latest = append(t.latest, newLatencies())
	}
	return t
}

// second returns the record for an instant.
func (t *tally) second(at time.Time) *second {
	n := int(max(at.Sub(t.start), 0) / time.Second)
	for len(t.seconds) <= n {
		t.seconds = append(t.seconds, second{newLatencies(), newLatencies(), counts{}})
	}
	return &t.seconds[n]
}

// seen records what became of a try.
func (t *tally) seen(r rush.Try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	took := r.Answered.Sub(r.Intended)
	switch {
	case r.GaveUp && r.Poll:
		t.lost++
	case r.GaveUp:
		t.givenUp++
	case r.Poll:
		t.polls[r.Outcome]++
		t.latest[poll].record(r.Answered.Sub(r.Due))
		if r.Outcome == client.Confirmed {
			t.latest[toOrderID].record(took)
			t.second(r.Answered).counts[client.Confirmed]++
		}
	default:
		t.all[r.Outcome]++
		t.second(r.Answered).counts[r.Outcome]++
		if r.N == 0 {
			t.latest[firstAnswer].record(took)
			t.second(r.Intended).click.record(took)
			k := t.visits[r.Buyer].kind
			if t.firsts[k] == nil {
				t.firsts[k] = counts{}
			}
			t.firsts[k][r.Outcome]++
		}
		if r.Final {
			t.latest[finalAnswer].record(took)
		}
	}
	if !r.Sent.IsZero() {
		t.latest[queue].record(r.Sent.Sub(r.Due))
		t.second(r.Due).queue.record(r.Sent.Sub(r.Due))
	}
}

// counted is one row of a breakdown.
type counted struct {
	Outcome client.Outcome
	Count   int64
	Percent float64
}

// breakdown sorts the counts, largest first.
func (c counts) breakdown() []counted {
	total := int64(0)
	for _, n := range c {
		total += n
	}
	var rows []counted
	for _, o := range slices.Sorted(maps.Keys(c)) {
		rows = append(rows, counted{o, c[o], 100 * float64(c[o]) / float64(total)})
	}
	slices.SortStableFunc(rows, func(a, b counted) int { return int(b.Count - a.Count) })
	return rows
}

// latencyRow is one line of the table of latencies.
type latencyRow struct {
	Name                     string
	Count                    int64
	P50, P90, P99, P999, Max time.Duration
}

type kindRow struct {
	Kind   kind
	Firsts []counted
}

// mostFindings bounds the reported findings: a broken promise tends to affect thousands of buyers.
const mostFindings = 20

// report closes the tally, to which nothing may be added afterwards, and returns what it has.
func (t *tally) report(title string, settings [][2]string, findings []books.Finding) report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := report{
		Title: title, Settings: settings, Took: time.Since(t.start).Round(100 * time.Millisecond),
		Outcomes: t.all.breakdown(), Polls: t.polls.breakdown(), seconds: t.seconds,
		Accepted: t.all[client.Accepted], Confirmed: t.latest[toOrderID].TotalCount(), GivenUp: t.givenUp, Unconfirmed: t.lost,
	}
	for i, l := range t.latest {
		r.Latencies = append(r.Latencies, latencyRow{
			measured[i], l.TotalCount(), l.at(50), l.at(90), l.at(99), l.at(99.9), time.Duration(l.Max()) * time.Microsecond,
		})
	}
	for _, s := range t.seconds {
		r.PeakAccepted = max(r.PeakAccepted, s.counts[client.Accepted])
	}
	for _, k := range slices.Sorted(maps.Keys(t.firsts)) {
		r.Kinds = append(r.Kinds, kindRow{k, t.firsts[k].breakdown()})
	}
	for _, f := range findings[:min(len(findings), mostFindings)] {
		r.Findings = append(r.Findings, f.String())
	}
	if more := len(findings) - mostFindings; more > 0 {
		r.Findings = append(r.Findings, fmt.Sprintf("and %d more", more))
	}
	return r
}
