package rehearse

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"time"

	"flashsale/infra/ops/deploy/price"
)

const (
	// A transaction of two small items takes four write units, even when it is cancelled.
	// Confirming an order takes one for its claim and one for the order, and each batch takes
	// one for its block of numbers.
	unitsPerTry, unitsPerOrder, unitsPerBatch = 4, 2, 1
	// unitsPerQuery is a consistent read of one small item.
	unitsPerQuery = 1
	// A payment is read with its order and its sale, and written on its claim. A refund due is
	// one more item, except that a wrong amount does not try the claim first.
	readsPerPayment, unitsPerPayment, unitsPerRefund = 2, 1, 1
	// A cancellation reads the sale, the claim, and the claim again, and releases it.
	readsPerCancellation, unitsPerCancellation = 3, 4
	// Releasing writes each claim, and with up to 25 of one shard's claims that shard, in
	// transactions; putting units back the shard and the sale; a pass, at its end, the listing.
	unitsPerRelease, unitsPerPutBack, claimsPerRelease, unitsPerPass = 2, 4, 25, 1
	// perCall is how many messages Lambda's poller receives or deletes per call.
	perCall = 10
	// maxLine is the maximum length of a log line, in bytes.
	maxLine = 1 << 20
)

// LocalLog measures the local stack's usage from its functions' logs. The local engines
// count no units, so these are computed by AWS's rules.
type LocalLog struct {
	Path string
	// MemoryMB is the memory of each function, by logical id.
	MemoryMB map[string]int
	// Shards is how many stock shards a sale has, over which released claims are spread: the
	// log does not say on how many shards they were.
	Shards int

	from int64
}

// Begin implements Meter: earlier log lines do not count.
func (l *LocalLog) Begin() error {
	info, err := os.Stat(l.Path)
	if err != nil {
		return fmt.Errorf("find the functions' log (DATA names its folder): %w", err)
	}
	l.from = info.Size()
	return nil
}

// Usage implements Meter.
func (l *LocalLog) Usage(context.Context, time.Time, time.Time) (price.Usage, string, error) {
	const how = "measured from the functions' log;\n" +
		"units computed by AWS's rules from its transactions, orders, payments and queries, durations measured on this machine"
	file, err := os.Open(l.Path)
	if err != nil {
		return price.Usage{}, how, fmt.Errorf("read the functions' log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(l.from, io.SeekStart); err != nil {
		return price.Usage{}, how, fmt.Errorf("read the functions' log: %w", err)
	}
	u, err := l.count(file)
	return u, how, err
}

// count reads lines like "PurchaseFunction | {…}" and ignores others.
func (l *LocalLog) count(r io.Reader) (price.Usage, error) {
	var u price.Usage
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if e, ok := parse(lines.Bytes()); ok {
			l.add(&u, e)
		}
	}
	if err := lines.Err(); err != nil {
		return u, fmt.Errorf("read the functions' log: %w", err)
	}
	return u, nil
}

// event is one log line, usually about a whole invocation.
type event struct {
	function string
	bytes    int
	Service  string  `json:"service"`
	Message  string  `json:"message"`
	Outcome  string  `json:"outcome"`
	Tries    float64 `json:"tries"`
	Messages float64 `json:"messages"`
	Orders   float64 `json:"confirmed"`
	Reads    float64 `json:"readUnits"`
	Resent   float64 `json:"resent"`
	Released float64 `json:"released"`
	PutBack  float64 `json:"putBack"`
	Route    string  `json:"route"`
	Reason   string  `json:"reason"` // of a refund
	Result   string  `json:"result"`
	Events   float64 `json:"events"`
	Ms       float64 `json:"ms"`
}

func parse(line []byte) (event, bool) {
	function, text, found := bytes.Cut(line, []byte(" | "))
	e := event{function: string(function), bytes: len(text)}
	if !found || json.Unmarshal(text, &e) != nil || e.Service == "" || e.Outcome == "" {
		return event{}, false
	}
	for _, n := range []*float64{&e.Tries, &e.Messages, &e.Orders, &e.Reads, &e.Resent, &e.Released, &e.PutBack, &e.Events, &e.Ms} {
		*n = max(0, *n)
	}
	return e, true
}

func (l *LocalLog) add(u *price.Usage, e event) {
	u.LogBytes += float64(e.bytes)
	u.ReadUnits += e.Reads
	u.QueueCalls += e.Resent
	u.Events += e.Events
	if e.Service == "release" {
		l.release(u, e)
	}
	if e.Message != e.Service {
		return // a line within an invocation, such as a receipt
	}
	u.Invocations++
	// Lambda bills duration rounded up to a millisecond; the line has it rounded down.
	u.GBSeconds += float64(l.MemoryMB[e.function]) / 1024 * (e.Ms + 1) / 1000
	switch e.Service {
	case "purchase":
		u.Requests++
		u.WriteUnits += unitsPerTry * e.Tries
		if e.Outcome == "ok" && e.Tries > 0 {
			u.QueueCalls++ // a repeated claim has its message already
		}
	case "page":
		u.Requests++
	case "pay":
		u.Requests++
		pay(u, e)
	case "query":
		u.Requests++
		u.ReadUnits += unitsPerQuery
	case "finalize":
		u.WriteUnits += unitsPerOrder*e.Orders + unitsPerBatch
		u.QueueCalls += 2 * math.Ceil(e.Messages/perCall)
	}
}

// pay adds what a webhook or a cancellation did. One that was refused for its contents did
// nothing.
func pay(u *price.Usage, e event) {
	if e.Outcome != "ok" || e.Result == "ignored" {
		return
	}
	if strings.HasPrefix(e.Route, http.MethodDelete) {
		u.ReadUnits += readsPerCancellation
		u.WriteUnits += unitsPerCancellation
		return
	}
	u.ReadUnits += readsPerPayment
	switch e.Reason {
	case "amount", "unknown-order":
		u.WriteUnits += unitsPerRefund
	case "":
		u.WriteUnits += unitsPerPayment
	default:
		u.WriteUnits += unitsPerPayment + unitsPerRefund
	}
}

// release adds what a pass wrote; what it read is in its line.
func (l *LocalLog) release(u *price.Usage, e event) {
	if e.Released+e.PutBack == 0 {
		return
	}
	shards := float64(max(l.Shards, 1))
	transactions := max(math.Ceil(e.Released/claimsPerRelease), min(e.Released, shards))
	u.WriteUnits += unitsPerRelease*(e.Released+transactions) + unitsPerPutBack*min(e.PutBack, shards) + unitsPerPass
}
