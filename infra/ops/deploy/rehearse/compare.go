package rehearse

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/ops/deploy/preflight"
	"flashsale/infra/ops/deploy/price"
)

// Versions are what a rehearsal tries.
type Versions struct {
	Release  string `json:"release"`  // as the API answers
	Commit   string `json:"commit"`   // of the work tree, by git describe
	Template string `json:"template"` // SHA-256
	Go       string `json:"go"`
	// Deployed has the fingerprint of each function that the stack runs: with it `deploy
	// parameters` shows whether that is the work tree's. Empty locally.
	Deployed map[string]string `json:"deployed,omitempty"`
}

// conditions are under what a rehearsal ran. They name no account and no address.
type conditions struct {
	Began    time.Time         `json:"began"`
	Where    string            `json:"where"`
	Region   string            `json:"region,omitempty"`
	Sale     string            `json:"sale"`
	Stock    int               `json:"stock"`
	Shards   int               `json:"shards"`
	Rate     float64           `json:"buyersPerSecond"`
	Peak     float64           `json:"buyersPerSecondAtOpening"`
	Duration string            `json:"duration"`
	Payments bool              `json:"payments"`
	Versions Versions          `json:"versions"`
	Quotas   *preflight.Limits `json:"quotas,omitempty"`
}

// bill is what was used and what that costs; without usage where nothing is counted.
type bill struct {
	How     string       `json:"how"`
	Usage   *Usage       `json:"usage,omitempty"`
	Lines   []price.Line `json:"lines,omitempty"`
	Dollars float64      `json:"dollars"`
}

// planned is what is compared of `make plan JSON=1`, and measured of the load generator's figures.
type planned struct {
	Orders, Conflicts, WriteUnits, OrdersPerSecond, WinnersP99Ms, DollarsPer1000Orders float64
}

type measured struct{ Orders, OrdersPerSecond, WinnersP99Ms, QueueP99Ms float64 }

const (
	// lambdaQuota is the concurrency that an account usually has.
	lambdaQuota = 1000

	onAWS     = "AWS"
	onMachine = "the local stack: nothing here was measured on AWS"
)

// prepare writes what is known before the sale: the conditions, the plan and the k6 script.
func (r *Rehearsal) prepare(ctx context.Context, began time.Time) error {
	report := folder(r.Report)
	if err := report.prepare(); err != nil {
		return err
	}
	c := conditions{
		Began: began.UTC(), Where: onMachine, Region: r.Region, Sale: r.Sale, Stock: r.Stock, Shards: r.Shards, Rate: r.Rate, Peak: max(r.Peak, r.Rate),
		Duration: r.Duration.String(), Payments: r.Payments, Versions: r.Versions,
	}
	if !r.Place.Local {
		c.Where = onAWS
	}
	// First, because it marks the folder as a report.
	if err := report.writeJSON(conditionsFile, c); err != nil {
		return err
	}
	document, err := os.ReadFile(r.Document)
	if err != nil {
		return fmt.Errorf("make k6 script: %w", err)
	}
	text, err := script(document, r.Place.API, r.Rate, r.Duration)
	if err != nil {
		return err
	}
	if err := report.write(scriptFile, text); err != nil {
		return err
	}
	r.conditions = &c
	if r.Account == nil {
		return r.plan(ctx, lambdaQuota)
	}
	l, err := r.Account.Limits(ctx, r.Stack)
	if err != nil {
		return fmt.Errorf("read quotas: %w", err)
	}
	c.Quotas, c.Versions.Deployed = &l, map[string]string{}
	for function, parameter := range r.Fingerprints {
		c.Versions.Deployed[function] = l.Parameters[parameter]
	}
	return r.plan(ctx, cmp.Or(r.Reserved, l.Unreserved))
}

// release asks the API which release answers, and completes the conditions.
func (r *Rehearsal) release(ctx context.Context) error {
	a, err := r.Place.Client.Sale(ctx, r.Sale)
	if err != nil {
		return fmt.Errorf("ask for the release: %w", err)
	}
	r.conditions.Versions.Release = cmp.Or(a.Header.Get("Flashsale-Version"), "unknown")
	return folder(r.Report).writeJSON(conditionsFile, r.conditions)
}

// plan runs `make plan` for the same sale: its shards, its rate, the concurrency that its
// purchases have, and none of it provisioned.
func (r *Rehearsal) plan(ctx context.Context, concurrency int) error {
	report := folder(r.Report)
	args := []string{
		"-json", "-chart", report.path(planPage), "-cold", "-users", strconv.Itoa(max(1, int(r.Rate*r.Duration.Seconds()))), "-stock", strconv.Itoa(r.Stock),
		"-shards", strconv.Itoa(r.Shards), "-concurrency", strconv.Itoa(concurrency), "-peak", fmt.Sprint(max(r.Peak, r.Rate, 1)),
	}
	if r.Peak <= r.Rate {
		args = append(args, "-steady")
	}
	if r.Region != "" {
		args = append(args, "-region", r.Region)
	}
	if r.MemoryMB > 0 {
		args = append(args, "-memory", strconv.Itoa(r.MemoryMB))
	}
	c := r.program(ctx, r.Plan, args...)
	var complaint bytes.Buffer // its progress, unless it fails
	c.Stderr = &complaint
	text, err := c.Output()
	if err != nil {
		return fmt.Errorf("make plan: %w: %s", err, &complaint)
	}
	return report.write(planFile, text)
}

// finish writes the bill and the comparison, prints the latter, and seals the report.
func (r *Rehearsal) finish(out io.Writer, b bill, orders int64) error {
	report := folder(r.Report)
	var plan planned
	var seen measured
	if err := report.read(planFile, &plan); err != nil {
		return err
	}
	if err := report.read(measuredFile, &seen); err != nil {
		return err
	}
	if err := report.writeJSON(billFile, b); err != nil {
		return err
	}
	text := r.comparison(plan, seen, b, orders)
	if err := report.write(comparisonFile, []byte(text)); err != nil {
		return err
	}
	digest, err := report.seal()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\nreport: %s\nSHA-256 of its %s: %s\n", text, r.Report, sumsFile, digest)
	return nil
}

// comparison is the table of plan and measurement.
func (r *Rehearsal) comparison(p planned, m measured, b bill, orders int64) string {
	var text strings.Builder
	row := func(name, plan, measured string) { fmt.Fprintf(&text, "%-52s %12s %12s\n", name, plan, measured) }
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
	whole := func(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }
	conflicts, writes, dollars := "not counted", "not counted", "local"
	if b.Usage != nil {
		conflicts, writes = whole(b.Usage.Conflicts), whole(b.Usage.WriteUnits)
		dollars = strconv.FormatFloat(1000*b.Dollars/float64(max(orders, 1)), 'f', 4, 64)
	}
	row("", "plan (model)", "measured")
	row("orders", whole(p.Orders), whole(float64(orders)))
	row("orders a second, until the last was accepted", number(p.OrdersPerSecond), number(m.OrdersPerSecond))
	row("purchase accepted, p99 from the click, ms", number(p.WinnersP99Ms), number(m.WinnersP99Ms))
	row("wait within the load generator, p99, ms", "", number(m.QueueP99Ms))
	row("conflicts of transactions", whole(p.Conflicts), conflicts)
	row("write units", whole(p.WriteUnits), writes)
	row("dollars for 1,000 orders", strconv.FormatFloat(p.DollarsPer1000Orders, 'f', 4, 64), dollars)
	where := onMachine
	if !r.Place.Local {
		where = onAWS + " in " + r.Region
	}
	fmt.Fprintf(&text, "measured on %s, release %s, commit %s\n", where, r.conditions.Versions.Release, r.Versions.Commit)
	return text.String()
}
