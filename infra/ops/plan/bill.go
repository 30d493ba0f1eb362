package main

import (
	"fmt"
	"io"
	"time"

	"flashsale/infra/ops/deploy/price"
)

const (
	bytesPerLine = 700
	// bytesPerAccess is about the length of a line of the API's access log.
	bytesPerAccess = 350
	// tracedShare is the share of calls of which X-Ray records a trace by its default rule, beside one
	// a second.
	tracedShare = 0.05
	// warmBefore and warmAfter are how long before and after the opening the
	// environments are provisioned.
	warmBefore, warmAfter = 10 * time.Minute, 5 * time.Minute
	// unitsPerPoll is a consistent read of a claim.
	unitsPerPoll = 1
)

// printOther prints what the bill leaves out: whatever AWS bills by person, by month or by capacity,
// and what it bills by request beside a function's own lines.
func printOther(out io.Writer, w wish, a advice, r course) {
	line := func(what, format string, values ...any) {
		_, _ = fmt.Fprintf(out, "  %-26s %s\n", what, fmt.Sprintf(format, values...))
	}
	_, _ = fmt.Fprintln(out, "\nBilled besides, by person, month or capacity")
	lite, essentials := price.SignIns(w.users)
	line("sign-ins", "$%.2f if %s people sign in to the stack's own user pool in the month (CreateUserPool; Cognito's plan Lite, the first %s free; $%.2f by Essentials); with an issuer of yours AWS bills nothing",
		lite, grouped(float64(w.users)), grouped(price.FreeSignIns), essentials)
	requests := r.requests + r.polls + r.refused
	line("access log", "$%.2f for a line of each request, those that the throttle refuses, too", price.Sum(price.Bill(price.Usage{LogBytes: bytesPerAccess * requests})))
	line("traces", "$%.2f for one call in %.0f", price.Traces(tracedShare*(r.requests+r.polls+float64(r.orders)/batch)), 1/tracedShare)
	if a.warmWrites > coldWrites {
		line("warm throughput", "once, when it is raised, and never lowered: the table keeps it for good; AWS's price list has the sum, this plan does not")
	}
	line("each month", "alarms, dashboard, metrics, keys, the front's web ACL, and storage and recovery of the table by the GB: infra/docs/FIGURES.md, Costs at rest")
	line("left out", "calls for payments and order events; data to the internet; SMS and mail of a user pool; what a payment provider and your own services cost")
}
