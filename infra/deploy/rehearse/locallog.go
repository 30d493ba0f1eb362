package rehearse

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"flashsale/infra/deploy/price"
)

const (
	// A transaction of two small items takes four write units, also when it is
	// cancelled; confirming an order takes one for its claim and one for the order,
	// and a batch one for its block of numbers.
	unitsPerTry, unitsPerOrder, unitsPerBatch = 4, 2, 1
	// unitsPerQuery is a consistent read of one small item.
	unitsPerQuery = 1
	// perCall is how many messages Lambda's poller receives or deletes at once.
	perCall = 10
	// maxLine is the longest log line that is read, in bytes.
	maxLine = 1 << 20
)

// LocalLog counts the local stack's use from what its functions log. The local
// engines bill nothing, so units follow from what was counted by AWS's rules.
type LocalLog struct {
	Path string
	// MemoryMB is each function's, by logical id.
	MemoryMB map[string]int

	from int64
}

// Begin implements Meter: what was logged before does not count.
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
	const how = "counted from the functions' log;\n" +
		"units by AWS's rules from the transactions, orders and queries in it, times are this machine's"
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

// count reads lines like "PurchaseFunction | {…}". What is not one is not counted.
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

// event is one line, most often of a whole invocation.
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
	Ms       float64 `json:"ms"`
}

func parse(line []byte) (event, bool) {
	function, text, found := bytes.Cut(line, []byte(" | "))
	e := event{function: string(function), bytes: len(text)}
	if !found || json.Unmarshal(text, &e) != nil || e.Service == "" || e.Outcome == "" {
		return event{}, false
	}
	for _, n := range []*float64{&e.Tries, &e.Messages, &e.Orders, &e.Reads, &e.Resent, &e.Ms} {
		*n = max(0, *n)
	}
	return e, true
}

func (l *LocalLog) add(u *price.Usage, e event) {
	u.LogBytes += float64(e.bytes)
	u.ReadUnits += e.Reads
	u.QueueCalls += e.Resent
	if e.Message != e.Service {
		return // a line within an invocation, such as a receipt
	}
	u.Invocations++
	// Lambda bills whole milliseconds and the line has what was whole of them.
	u.GBSeconds += float64(l.MemoryMB[e.function]) / 1024 * (e.Ms + 1) / 1000
	switch e.Service {
	case "purchase":
		u.Requests++
		u.WriteUnits += unitsPerTry * e.Tries
		if e.Outcome == "ok" && e.Tries > 0 {
			u.QueueCalls++ // a claim that was made before has its message already
		}
	case "query":
		u.Requests++
		u.ReadUnits += unitsPerQuery
	case "finalize":
		u.WriteUnits += unitsPerOrder*e.Orders + unitsPerBatch
		u.QueueCalls += 2 * math.Ceil(e.Messages/perCall)
	}
}
