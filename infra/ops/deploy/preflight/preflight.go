// Package preflight checks before a deployment what would otherwise show during it, or as an
// outage: whether the account's quotas suffice, and whether the parameters are sound for an
// opening day.
//
// It makes no changes. A value that cannot be read stops a deployment as well.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"flashsale/infra/local/cloudformation"
)

type Verdict string

// The verdicts. A warning does not stop a deployment.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warn"
	Failed  Verdict = "FAIL"
	Unread  Verdict = "?" // it could not be looked at
)

type Finding struct {
	Verdict Verdict
	Check   string
	Says    string
}

type Deployment struct {
	Stack      string
	Region     string
	Production bool
	TestUsers  bool // administrators may sign in as any user there
	Template   *cloudformation.Template
	Now        time.Time
	// Changes lists the uncommitted files of the work tree, a line for each.
	Changes func(context.Context) ([]string, error)
	// Lookup finds what is there already; if it is nil, nothing of that is checked.
	Lookup Lookup
}

type Lookup interface {
	// Limits returns what the account allows, and what the stack has.
	Limits(ctx context.Context, stack string) (Limits, error)
	// Issuer fails if API Gateway would refuse the tokens of an issuer.
	Issuer(ctx context.Context, issuer string) error
	// Bus fails if there is no event bus with that ARN.
	Bus(ctx context.Context, arn string) error
	// Table fails if the table cannot be the stack's ledger, or has not that stream. The stream
	// is empty if nobody reads it.
	Table(ctx context.Context, table, stream string) error
	// Balanced recounts every sale of a table, and fails with the first finding.
	Balanced(ctx context.Context, table string) error
}

func Run(ctx context.Context, d Deployment) []Finding {
	r := &report{Deployment: d}
	r.values()
	r.recipients()
	r.seeding()
	r.warming()
	r.page()
	r.tree(ctx)
	if r.Lookup == nil {
		r.add(Warning, "--offline", "neither the account nor an issuer, a bus or a table that exists was looked at")
		return r.findings
	}
	r.issuers(ctx)
	r.bus(ctx)
	r.existingTable(ctx)
	r.quotas(ctx)
	return r.findings
}

var (
	ErrFailed = errors.New("the preflight failed")
	ErrUnread = errors.New("the preflight could not look at everything")
)

// Print writes the findings as a table. The error is ErrFailed if one is Failed, or else ErrUnread if one is
// Unread.
func Print(w io.Writer, findings []Finding) error {
	count := map[Verdict]int{}
	for _, f := range findings {
		fmt.Fprintf(w, "  %-4s  %-22s %s\n", f.Verdict, f.Check, f.Says)
		count[f.Verdict]++
	}
	switch {
	case count[Failed] > 0:
		return fmt.Errorf("%w: %d of %d checks", ErrFailed, count[Failed], len(findings))
	case count[Unread] > 0:
		return ErrUnread
	}
	return nil
}

type report struct {
	Deployment
	findings []Finding
}

// text returns a parameter's value, empty if there is none.
func (r *report) text(parameter string) string {
	for _, p := range r.Template.Parameters {
		if p.Name == parameter {
			return p.Value
		}
	}
	return ""
}

func (r *report) number(parameter string) int { return number(r.text(parameter)) }

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func (r *report) add(v Verdict, check, format string, values ...any) {
	r.findings = append(r.findings, Finding{v, check, fmt.Sprintf(format, values...)})
}

// check adds a finding: OK if fine, otherwise Failed.
func (r *report) check(fine bool, check, format string, values ...any) {
	r.add(map[bool]Verdict{true: OK, false: Failed}[fine], check, format, values...)
}

// unless adds a finding that names the error, if there is one.
func (r *report) unless(err error, check, says string) {
	if err != nil {
		says += ": " + err.Error()
	}
	r.check(err == nil, check, "%s", says)
}

func (r *report) issuers(ctx context.Context) {
	for _, issuer := range []string{r.text("JwtIssuer"), r.text("OperatorIssuer")} {
		if issuer != "" {
			r.unless(r.Lookup.Issuer(ctx, issuer), "issuer", issuer)
		}
	}
}

// bus checks the bus of the order events. Whether a bus of another account takes them is
// decided by its policy, which cannot be tried before PublishFunction has its role.
func (r *report) bus(ctx context.Context) {
	if arn := r.text("EventBusArn"); arn != "" && r.text("PublishEvents") == "true" {
		r.unless(r.Lookup.Bus(ctx, arn), "event bus", arn)
	}
}
