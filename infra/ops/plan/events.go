package main

import (
	"fmt"
	"io"
	"math"

	"flashsale/infra/ops/deploy/price"
)

// What PublishFunction does for order events (PublishEvents), assumed. The stream's reads
// by Lambda are free.
const (
	// perBatch is how many events a batch has, and batchSeconds what it takes.
	perBatch, batchSeconds = 10, 0.05
)

// published returns what that many events use.
func published(events, memoryMB int) (u price.Usage) {
	u.Events, u.Invocations = float64(events), math.Ceil(float64(events)/perBatch)
	u.GBSeconds = float64(memoryMB) / 1024 * u.Invocations * batchSeconds
	u.LogBytes = u.Invocations * bytesPerLine
	return u
}

// printEvents prints what order events cost more.
func printEvents(out io.Writer, memoryMB int, list price.List) {
	_, _ = fmt.Fprintf(out, "\nOrder events (PublishEvents): one for each order, payment, release and refund due; %d in a batch of %.0f ms\n",
		perBatch, 1000*batchSeconds)
	const events = 1_000_000
	_, _ = fmt.Fprintf(out, "  %-44s %8s %12s %8s %8s\n", grouped(events)+" events", grouped(published(events, memoryMB).Invocations)+" calls", "", "",
		fmt.Sprintf("$%.4f", price.Sum(price.Bill(list, published(events, memoryMB)))))
}
