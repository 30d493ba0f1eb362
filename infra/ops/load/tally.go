package main

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"flashsale/infra/kit/client"
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

func (l latencies) at(quantile float64) time.Duration {
	return time.Duration(l.h.ValueAtQuantile(quantile)) * time.Microsecond
}

func (l latencies) count() int64 { return l.h.TotalCount() }

// second holds the measurements of one second of a run.
type second struct {
	click  latencies                // time to the first answer, by intended second
	queue  latencies                // wait inside the generator, by intended second
	counts map[client.Outcome]int64 // answers, by the second of their arrival
}

// tally collects a run's measurements. It is safe for concurrent use.
type tally struct {
	mu sync.Mutex

	firstAnswer, finalAnswer, toOrderID, poll, queue, webhook latencies

	// firsts counts the first outcomes of clicks by kind of buyer, all those of all purchase
	// requests, polls those of the status resource.
	firsts     map[kind]map[client.Outcome]int64
	all, polls map[client.Outcome]int64
	// finals counts the final answers to clicks.
	finals map[client.Outcome]int64
	// orders counts what became of the orders of a sale that asks for payment.
	orders        map[client.Outcome]int64
	givenUp, lost int64
	seconds       []second
}

func newTally() *tally {
	return &tally{
		firstAnswer: newLatencies(), finalAnswer: newLatencies(), toOrderID: newLatencies(), poll: newLatencies(), queue: newLatencies(), webhook: newLatencies(),
		firsts: map[kind]map[client.Outcome]int64{}, all: map[client.Outcome]int64{}, polls: map[client.Outcome]int64{}, finals: map[client.Outcome]int64{}, orders: map[client.Outcome]int64{},
	}
}

// second returns the record for a time after the start.
func (t *tally) second(at time.Duration) *second {
	n := int(max(at, 0) / time.Second)
	for len(t.seconds) <= n {
		t.seconds = append(t.seconds, second{newLatencies(), newLatencies(), map[client.Outcome]int64{}})
	}
	return &t.seconds[n]
}

// first records the first outcome of a click by its intended time, even if no answer came.
func (t *tally) first(k kind, o client.Outcome, at, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.firstAnswer.record(took)
	t.second(at).click.record(took)
	if t.firsts[k] == nil {
		t.firsts[k] = map[client.Outcome]int64{}
	}
	t.firsts[k][o]++
}

// answered records the outcome of a purchase request.
func (t *tally) answered(o client.Outcome, at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[o]++
	t.second(at).counts[o]++
}

// final records the final answer to a click and the time from its intended time.
func (t *tally) final(o client.Outcome, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finals[o]++
	t.finalAnswer.record(took)
}

func (t *tally) gaveUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.givenUp++
}

// queued records how long a request waited inside the generator.
func (t *tally) queued(at, waited time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue.record(waited)
	t.second(at).queue.record(waited)
}

// polled records the outcome of a status poll and the time since it was due.
func (t *tally) polled(o client.Outcome, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.polls[o]++
	t.poll.record(took)
}

// confirmed records that an order id was seen, and the time since its buyer's intended
// click.
func (t *tally) confirmed(at, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.toOrderID.record(took)
	t.second(at).counts[client.Confirmed]++
}

// reported records the time from a payment to the final answer to its webhook.
func (t *tally) reported(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.webhook.record(took)
}

// settled counts what became of an order or of its payment.
func (t *tally) settled(o client.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.orders[o]++
}

func (t *tally) unconfirmed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost++
}

// counted is one row of a breakdown.
type counted struct {
	Outcome client.Outcome
	Count   int64
	Percent float64
}

// breakdown sorts the counts, largest first.
func breakdown(counts map[client.Outcome]int64) []counted {
	total := int64(0)
	for _, n := range counts {
		total += n
	}
	rows := make([]counted, 0, len(counts))
	for _, o := range slices.Sorted(maps.Keys(counts)) {
		rows = append(rows, counted{o, counts[o], 100 * float64(counts[o]) / float64(total)})
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

func (l latencies) row(name string) latencyRow {
	return latencyRow{name, l.count(), l.at(50), l.at(90), l.at(99), l.at(99.9), time.Duration(l.h.Max()) * time.Microsecond}
}
