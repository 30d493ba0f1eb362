// Package price turns what a run has used into dollars.
//
// A line in here knows AWS's price list and nothing of how the use was counted.
package price

import (
	"fmt"
	"io"
)

// Prices in dollars: us-east-1, on demand, arm64, without free tiers.
const (
	PerRequest    = 1.00 / 1e6 // HTTP API
	PerInvocation = 0.20 / 1e6
	PerGBSecond   = 0.0000133334
	PerWriteUnit  = 0.625 / 1e6
	PerReadUnit   = 0.125 / 1e6
	PerQueueCall  = 0.40 / 1e6
	PerLogGB      = 0.50
)

// Usage is what was counted.
type Usage struct {
	Requests    float64 // of the API
	Invocations float64
	GBSeconds   float64
	WriteUnits  float64
	ReadUnits   float64
	QueueCalls  float64
	LogBytes    float64
}

// Line is one line of the bill.
type Line struct {
	What    string
	Counted float64
	Unit    string
	Dollars float64
}

// Bill prices the use. Storage, metrics, traces, data transfer and what costs
// money without being used are not in it.
func Bill(u Usage) []Line {
	logs := u.LogBytes / (1 << 30)
	return []Line{
		{"HTTP API", u.Requests, "requests", u.Requests * PerRequest},
		{"Lambda", u.Invocations, "invocations", u.Invocations * PerInvocation},
		{"Lambda", u.GBSeconds, "GB-seconds", u.GBSeconds * PerGBSecond},
		{"DynamoDB", u.WriteUnits, "write units", u.WriteUnits * PerWriteUnit},
		{"DynamoDB", u.ReadUnits, "read units", u.ReadUnits * PerReadUnit},
		{"SQS", u.QueueCalls, "calls", u.QueueCalls * PerQueueCall},
		{"logs", 1024 * logs, "MB", logs * PerLogGB},
	}
}

// Sum is the bill's total in dollars.
func Sum(bill []Line) float64 {
	total := 0.0
	for _, l := range bill {
		total += l.Dollars
	}
	return total
}

// Print writes the bill as a table, and what so many orders cost each thousand.
func Print(w io.Writer, bill []Line, orders int64) {
	for _, l := range bill {
		fmt.Fprintf(w, "  %-10s %14.1f %-12s $%.6f\n", l.What, l.Counted, l.Unit, l.Dollars)
	}
	fmt.Fprintf(w, "  %-10s %14s %-12s $%.6f\n", "total", "", "", Sum(bill))
	if orders > 0 {
		fmt.Fprintf(w, "  %-10s %14s %-12s $%.4f\n", "per 1,000", "", "orders", 1000*Sum(bill)/float64(orders))
	}
}
