package load

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/rush"
)

// longestLatency is the histogram's maximum, in microseconds.
const longestLatency = int64(20 * time.Minute / time.Microsecond)

// latencies is a histogram of durations in microseconds with 2 significant digits (1 %);
// there is one for every second of a run.
type latencies struct{ h *hdrhistogram.Histogram }

func newLatencies() latencies { return latencies{hdrhistogram.New(1, longestLatency, 2)} }

func (l latencies) record(d time.Duration) {
	// The value is clamped to the range, so this cannot fail.
	_ = l.h.RecordValue(min(max(d.Microseconds(), 1), longestLatency))
}

func (l latencies) row(name string) latencyRow {
	ms := func(microseconds int64) float64 { return float64(microseconds) / 1000 }
	at := func(quantile float64) float64 { return ms(l.h.ValueAtQuantile(quantile)) }
	return latencyRow{name, l.h.TotalCount(), at(50), at(90), at(99), at(99.9), ms(l.h.Max())}
}

// What is measured, with the names in reports.
const (
	firstAnswer = iota
	finalAnswer
	toOrderID
	poll
	queue
	webhookAnswer // its row is left out if nobody pays
)

var measured = []string{
	"click to first answer", "click to final answer", "click to order id seen", "status poll", "queueing in the generator", "payment to webhook answered",
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
	start time.Time

	mu     sync.Mutex
	latest []latencies // as in measured
	// all counts the outcomes of all purchase requests, finals the final ones, polls those of the status resource.
	all, finals, polls counts
	// orders counts what became of the orders of a sale that asks for payment.
	orders        counts
	givenUp, lost int64
	seconds       []second
}

func newTally() *tally {
	t := &tally{start: time.Now(), all: counts{}, finals: counts{}, polls: counts{}, orders: counts{}}
	for range measured {
		t.latest = append(t.latest, newLatencies())
	}
	return t
}

func (t *tally) second(at time.Time) *second {
	n := int(max(at.Sub(t.start), 0) / time.Second)
	for len(t.seconds) <= n {
		t.seconds = append(t.seconds, second{newLatencies(), newLatencies(), counts{}})
	}
	return &t.seconds[n]
}

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
		}
		if r.Final {
			t.finals[r.Outcome]++
			t.latest[finalAnswer].record(took)
		}
	}
	if !r.Sent.IsZero() {
		t.latest[queue].record(r.Sent.Sub(r.Due))
		t.second(r.Due).queue.record(r.Sent.Sub(r.Due))
	}
}

// reported records the time from a payment to the final answer to its webhook.
func (t *tally) reported(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latest[webhookAnswer].record(took)
}

func (t *tally) settled(o client.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.orders[o]++
}

// print writes the counts and their shares, the largest first.
func (c counts) print(w io.Writer) {
	total := int64(0)
	for _, n := range c {
		total += n
	}
	outcomes := slices.SortedFunc(maps.Keys(c), func(a, b client.Outcome) int { return cmp.Or(cmp.Compare(c[b], c[a]), cmp.Compare(a, b)) })
	for _, o := range outcomes {
		fmt.Fprintf(w, "  %-20s %9d  %5.1f %%\n", o, c[o], 100*float64(c[o])/float64(total))
	}
}
