package model

import (
	"math"
	"sync"
	"time"
)

// Counts are the counts of a run. Figures of sampled users are weighted, and so may be
// fractional.
type Counts struct {
	Accepted int64
	Refused  float64 // answered "sold out"
	// Looked counts those of them before which the buyer's claim was read.
	Looked float64
	// FalseSoldOut counts "sold out" answered while a unit was left (P6).
	FalseSoldOut int
	// GiveUps are requests that PurchaseFunction answered with "busy".
	GiveUps float64
	// GatewayThrottled are requests that API Gateway's throttle refused, which are not
	// billed. RateThrottled are those that exceeded Lambda's limit of requests a
	// second, and LambdaThrottled those for which it had no environment.
	GatewayThrottled, RateThrottled, LambdaThrottled float64
	// Unanswered are buyers who stopped repeating without a final answer.
	Unanswered float64
	Unexpected float64 // any other answer

	Transactions int // tried and not throttled
	Conflicts    int // of them conflicted
	Throttled    int // throttled calls of DynamoDB
	// HotReads are those of them that read the most throttled item.
	HotReads int

	Confirmed     int64
	LastConfirmed time.Duration // since the sale opened

	Invocations float64 // of both functions
	// PurchaseInvocations are those caused by buyers' requests.
	PurchaseInvocations float64
	Busy                time.Duration // billed time of both functions, on demand
	Warm                time.Duration // billed time in provisioned environments
	// Polls are the winners' requests for their order until it is confirmed.
	Polls       float64
	Concurrency int // most concurrent purchases
	QueueCalls  float64

	opened time.Time
	// representedReads are the read units of users who were not simulated.
	representedReads float64
	// refusedReads are the throttled single reads of each partition key.
	refusedReads map[string]int
}

// Bin is one slice of the timeline.
type Bin struct {
	// Requests are purchases as they are sent, those that are throttled included.
	Requests                                     float64
	Accepted, Confirmed, Transactions, Conflicts int
	// Refused are the "sold out" answers; Probing those of them for which a
	// transaction was tried.
	Refused, Probing float64
}

// BinWidth is how long a Bin lasts.
const BinWidth = 100 * time.Millisecond

type tally struct {
	mu     sync.Mutex
	counts Counts
	bins   []Bin
	// firstEmpty and lastSold are instants of the sale, since its opening.
	firstEmpty, lastSold time.Duration
	// tail are the transactions from the first empty shard until the last unit was
	// sold, and how many of them sold one.
	tail, tailSold int
	// tailTries are those of the winners among them.
	tailTries int
	winners   histogram
	losers    histogram
	left      int64
}

func (t *tally) count(add func(*Counts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	add(&t.counts)
}

// requested records a purchase that is sent.
func (t *tally) requested(weight float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bin().Requests += weight
}

// bin returns the current bin; t.mu is held.
func (t *tally) bin() *Bin {
	i := int(time.Since(t.counts.opened) / BinWidth)
	for len(t.bins) <= i {
		t.bins = append(t.bins, Bin{})
	}
	return &t.bins[i]
}

func (t *tally) transaction(won, conflict, empty bool, tries int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, now := t.bin(), time.Since(t.counts.opened)
	t.counts.Transactions++
	b.Transactions++
	if empty && t.firstEmpty == 0 {
		t.firstEmpty = now
	}
	if t.firstEmpty > 0 && t.left > 0 {
		t.tail++
	}
	switch {
	case won:
		b.Accepted++
		t.lastSold = now
		if t.left--; t.firstEmpty > 0 {
			t.tailSold++
			t.tailTries += tries
		}
	case conflict:
		t.counts.Conflicts++
		b.Conflicts++
	}
}

// accepted records a winner's answer.
func (t *tally) accepted(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Accepted++
	t.winners.add(took, 1)
}

// refused records a loser's answer.
func (t *tally) refused(took time.Duration, weight float64, a answer, phantom bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Refused += weight
	if a.looked {
		t.counts.Looked += weight
	}
	if phantom {
		t.counts.FalseSoldOut++
	}
	b := t.bin()
	b.Refused += weight
	if a.transactions > 0 {
		b.Probing += weight
	}
	t.losers.add(took, weight)
}

// histogram holds durations to within 1 %.
type histogram struct {
	buckets [2400]float64
	total   float64
}

const growth = 1.01

func (h *histogram) add(d time.Duration, weight float64) {
	i := int(math.Log(max(1, float64(d)/float64(10*time.Microsecond))) / math.Log(growth))
	h.buckets[min(i, len(h.buckets)-1)] += weight
	h.total += weight
}

// quantile returns the q-quantile, q in (0,1]; 0 if the histogram is empty.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	sum := 0.0
	for i, n := range h.buckets {
		if sum += n; sum >= q*h.total {
			return time.Duration(math.Pow(growth, float64(i)+0.5) * float64(10*time.Microsecond))
		}
	}
	return time.Duration(math.Pow(growth, float64(len(h.buckets))) * float64(10*time.Microsecond))
}
