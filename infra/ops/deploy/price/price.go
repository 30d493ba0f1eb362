// Package price converts a run's usage into dollars. All prices of the project are in its
// file prices.go.
//
// It contains AWS's price list; its callers measure the usage.
package price

import (
	"fmt"
	"io"
	"math"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Usage is a measured usage.
type Usage struct {
	Requests    float64 `json:"requests"` // to the API, without those refused by its throttle
	Invocations float64 `json:"invocations"`
	GBSeconds   float64 `json:"gbSeconds"` // in environments that were started on demand
	// WarmGBSeconds is the duration in provisioned environments, HeldGBSeconds the time for
	// which the environments were provisioned, used or not.
	WarmGBSeconds float64 `json:"warmGBSeconds"`
	HeldGBSeconds float64 `json:"heldGBSeconds"`
	WriteUnits    float64 `json:"writeUnits"`
	ReadUnits     float64 `json:"readUnits"`
	QueueCalls    float64 `json:"queueCalls"`
	Events        float64 `json:"events"` // published to the event bus
	LogBytes      float64 `json:"logBytes"`
	EdgeRequests  float64 `json:"edgeRequests"` // to the front, each inspected by its web ACL
}

// Line is one line of the bill.
type Line struct {
	What    string  `json:"what"`
	Counted float64 `json:"counted"`
	Unit    string  `json:"unit"`
	Dollars float64 `json:"dollars"`
}

// Bill prices the usage. It does not include storage, metrics, traces, data transfer, warm
// throughput or fixed costs, except provisioned concurrency.
func Bill(u Usage) []Line {
	logs := u.LogBytes / (1 << 30)
	var bill []Line
	add := func(what string, counted float64, unit string, each Price) {
		if counted > 0 {
			bill = append(bill, Line{what, counted, unit, counted * each.Dollars})
		}
	}
	add("HTTP API", u.Requests, "requests", prices.Request)
	add("Lambda", u.Invocations, "invocations", prices.Invocation)
	add("Lambda", u.GBSeconds, "GB-seconds", prices.GBSecond)
	add("Lambda, in provisioned environments", u.WarmGBSeconds, "GB-seconds", prices.WarmGBSecond)
	add("provisioned concurrency", u.HeldGBSeconds, "GB-seconds", prices.HeldGBSecond)
	add("DynamoDB", u.WriteUnits, "write units", prices.WriteUnit)
	add("DynamoDB", u.ReadUnits, "read units", prices.ReadUnit)
	add("SQS", u.QueueCalls, "calls", prices.QueueCall)
	add("EventBridge", u.Events, "events", prices.Event)
	add("CloudFront", u.EdgeRequests, "requests", prices.EdgeRequest)
	add("web ACL", u.EdgeRequests, "requests", prices.Inspection)
	add("logs", 1024*logs, "MB", Price{Dollars: prices.LogGB.Dollars / 1024})
	return bill
}

// FreeSignIns are the people a month who cost nothing, in each plan and for good: the one free tier
// that is counted, because most sales would cost nothing at all by it.
const FreeSignIns = 10_000

// SignIns is what that many people cost in dollars who sign in to a Cognito user pool within a
// month, by its plan Lite and by its plan Essentials.
func SignIns(people int) (lite, essentials float64) {
	between := func(from, to float64) float64 { return max(0, min(float64(people), to)-from) }
	lite = between(FreeSignIns, 1e5)*prices.SignIn.Dollars + between(1e5, 1e6)*prices.SignInFrom100k.Dollars +
		between(1e6, math.Inf(1))*prices.SignInFrom1M.Dollars
	return lite, between(FreeSignIns, math.Inf(1)) * prices.EssentialSignIn.Dollars
}

// Traces is what that many traces cost in dollars.
func Traces(n float64) float64 { return n * prices.Trace.Dollars }

// Sum is the bill's total in dollars.
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
		fmt.Fprintf(w, "  %-35s %14s %-12s %9s\n", what, counted, unit, cents(dollars))
	}
	for _, l := range bill {
		row(l.What, count(l.Counted), l.Unit, l.Dollars)
	}
	row("total", "", "", Sum(bill))
	if orders > 0 {
		row("per 1,000 orders", "", "", 1000*Sum(bill)/float64(orders))
	}
}

// count rounds to a whole number, with commas between thousands.
func count(x float64) string {
	if x <= 0.5 {
		return "under 1"
	}
	return message.NewPrinter(language.English).Sprint(int64(math.Round(x)))
}

// cents rounds to cents; a bill has no lines that cost nothing.
func cents(dollars float64) string {
	if dollars < 0.005 {
		return "under 1¢"
	}
	return fmt.Sprintf("$%.2f", dollars)
}
