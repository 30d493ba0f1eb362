// Package price converts a run's usage into dollars. All prices of the project are in its
// file prices.go.
//
// It contains AWS's price list; its callers measure the usage.
package price

import (
	"fmt"
	"io"
	"math"

	"flashsale/infra/ops/cli"
)

type Usage struct {
	Requests    float64 // to the API, without those refused by its throttle
	Invocations float64
	GBSeconds   float64 // in environments that were started on demand
	// WarmGBSeconds is the duration in provisioned environments, HeldGBSeconds the time for
	// which the environments were provisioned, used or not.
	WarmGBSeconds float64
	HeldGBSeconds float64
	WriteUnits    float64
	ReadUnits     float64
	QueueCalls    float64
	Events        float64 // published to the event bus
	LogBytes      float64
	EdgeRequests  float64 // to the front, each inspected by its web ACL
}

type Line struct {
	What    string  `json:"what"`
	Counted float64 `json:"counted"`
	Unit    string  `json:"unit"`
	Dollars float64 `json:"dollars"`
}

// Bill prices the usage. It does not include storage, metrics, traces, data transfer, warm
// throughput or fixed costs, except provisioned concurrency.
func Bill(u Usage) []Line {
	var bill []Line
	add := func(what string, counted float64, unit string, each float64) {
		if counted > 0 {
			bill = append(bill, Line{what, counted, unit, counted * each})
		}
	}
	add("HTTP API", u.Requests, "requests", request)
	add("Lambda", u.Invocations, "invocations", invocation)
	add("Lambda", u.GBSeconds, "GB-seconds", gbSecond)
	add("Lambda, in provisioned environments", u.WarmGBSeconds, "GB-seconds", warmGBSecond)
	add("provisioned concurrency", u.HeldGBSeconds, "GB-seconds", heldGBSecond)
	add("DynamoDB", u.WriteUnits, "write units", writeUnit)
	add("DynamoDB", u.ReadUnits, "read units", readUnit)
	add("SQS", u.QueueCalls, "calls", queueCall)
	add("EventBridge", u.Events, "events", event)
	add("CloudFront", u.EdgeRequests, "requests", edgeRequest)
	add("web ACL", u.EdgeRequests, "requests", inspection)
	add("logs", u.LogBytes/(1<<20), "MB", logGB/1024)
	return bill
}

// FreeSignIns are the people a month who cost nothing, for good: the one free tier
// that is counted, because most sales would cost nothing at all by it.
const FreeSignIns = 10_000

// SignIns is what that many people cost in dollars who sign in to a Cognito user pool within a
// month, by its plan Lite, which the template's has.
func SignIns(people int) float64 {
	between := func(from, to float64) float64 { return max(0, min(float64(people), to)-from) }
	return between(FreeSignIns, 1e5)*signIn + between(1e5, 1e6)*signInFrom100k + between(1e6, math.Inf(1))*signInFrom1M
}

func Sum(bill []Line) float64 {
	total := 0.0
	for _, l := range bill {
		total += l.Dollars
	}
	return total
}

// Print writes the bill as a table with its total and, if there are orders, the cost of 1,000.
func Print(w io.Writer, bill []Line, orders int64) {
	row := func(what, counted, unit string, dollars float64) {
		cost := "under 1¢" // no line costs nothing
		if dollars >= 0.005 {
			cost = fmt.Sprintf("$%.2f", dollars)
		}
		fmt.Fprintf(w, "  %-35s %14s %-12s %9s\n", what, counted, unit, cost)
	}
	for _, l := range bill {
		row(l.What, cli.Thousands(math.Ceil(l.Counted)), l.Unit, l.Dollars)
	}
	row("total", "", "", Sum(bill))
	if orders > 0 {
		row("per 1,000 orders", "", "", 1000*Sum(bill)/float64(orders))
	}
}
