// Package preflight checks before a deployment whether it can succeed: whether the account's
// quotas meet the template's demand, and whether the parameters are sound for an opening day.
//
// It contains AWS's quotas and this project's configuration rules. It makes no changes. A
// value that cannot be read is a failure.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"flashsale/infra/ops/deploy/demand"
)

// Verdict is the outcome of one check.
type Verdict string

// The verdicts. A warning does not stop a deployment.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warn"
	Failed  Verdict = "FAIL"
)

// Finding is the result of one check.
type Finding struct {
	Verdict Verdict
	Check   string
	Says    string
}

// Limits are what an account allows in the deployment's region.
type Limits struct {
	Account string
	// Concurrency is Lambda's quota, Unreserved the part of it that no function has
	// reserved, and Own the part that this stack has reserved so far.
	Concurrency, Unreserved, Own int
	// TableReads and TableWrites are the maximum number of units per second of one table.
	TableReads, TableWrites int
	// Rate and Burst are API Gateway's limits for all APIs of the account together.
	Rate  float64
	Burst int
	// Status is the stack's status, Tables are its tables by logical id, and Parameters its
	// parameters. They are empty before the first deployment.
	Status     string
	Tables     map[string]Warmth
	Parameters map[string]string
}

// Warmth is what a table can take at once, in units per second.
type Warmth struct{ Reads, Writes int }

// Account returns an account's limits.
type Account interface {
	Limits(ctx context.Context, stack string) (Limits, error)
}

// ErrNoClone: the work tree has no history, as in a ZIP of it.
var ErrNoClone = errors.New("this is no git clone, so nobody can tell later what was deployed")

// Tree lists the uncommitted files of the work tree, a line for each.
type Tree interface {
	Uncommitted(ctx context.Context) ([]string, error)
}

// Issuers checks an issuer.
type Issuers interface {
	Check(ctx context.Context, issuer string) error
}

// Buses checks an event bus, by its ARN.
type Buses interface {
	Check(ctx context.Context, arn string) error
}

// Deployment is the deployment to check. Without an Account the quotas are not checked, and
// a finding says so. The same applies to Issuers, Buses and Tables.
type Deployment struct {
	Stack      string
	Region     string
	Production bool
	TestUsers  bool // administrators may sign in as any user there
	Demand     demand.Demand
	// DemandOf returns the template's demand with other parameters. Without it every
	// deployment is taken to change the tables.
	DemandOf func(parameters map[string]string) (demand.Demand, error)
	Account  Account
	Issuers  Issuers
	Buses    Buses
	Tables   Tables
	Tree     Tree
	Now      time.Time
}

// Run makes every check.
func Run(ctx context.Context, d Deployment) []Finding {
	r := &report{}
	parameters(r, d)
	queues(r, d)
	schedules(r, d)
	issuers(ctx, r, d)
	page(r, d)
	bus(ctx, r, d)
	existingTable(ctx, r, d)
	tree(ctx, r, d)
	quotas(ctx, r, d)
	return r.findings
}

// ErrFailed means that at least one check failed.
var ErrFailed = errors.New("the preflight failed")

// Print writes the findings as a table; the error is ErrFailed if one of them must stop the
// deployment.
func Print(w io.Writer, findings []Finding) error {
	failed := 0
	for _, f := range findings {
		fmt.Fprintf(w, "  %-4s  %-22s %s\n", f.Verdict, f.Check, f.Says)
		if f.Verdict == Failed {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d of %d checks", ErrFailed, failed, len(findings))
	}
	return nil
}

type report struct{ findings []Finding }

func (r *report) add(v Verdict, check, format string, values ...any) {
	r.findings = append(r.findings, Finding{v, check, fmt.Sprintf(format, values...)})
}

// check adds a finding: OK if fine, otherwise Failed.
func (r *report) check(fine bool, check, format string, values ...any) {
	v := Failed
	if fine {
		v = OK
	}
	r.add(v, check, format, values...)
}
