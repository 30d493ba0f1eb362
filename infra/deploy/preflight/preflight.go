// Package preflight says before a deployment whether it can succeed: whether the
// account's quotas hold what the template asks, and whether the parameters make
// sense for an opening day.
//
// It contains AWS's quotas and this project's rules of configuration. It only
// reads. What could not be read is a failure, not a pass.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"flashsale/infra/deploy/demand"
)

// Verdict is the outcome of one check.
type Verdict string

// The verdicts. A warning does not stop a deployment.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warn"
	Failed  Verdict = "FAIL"
)

// Finding is one line of the answer.
type Finding struct {
	Verdict Verdict
	Check   string
	Says    string
}

// Limits are what an account allows in the deployment's region.
type Limits struct {
	Account string
	// Concurrency is Lambda's quota; Unreserved is what of it no function has
	// reserved; Own is what this very stack has reserved of it so far.
	Concurrency, Unreserved, Own int
	// TableWrites is the most write units a second of one table.
	TableWrites int
	// Rate and Burst are API Gateway's, for all APIs of the account together.
	Rate  float64
	Burst int
}

// Account answers what is allowed there.
type Account interface {
	Limits(ctx context.Context, stack string) (Limits, error)
}

// Tree answers what is not committed in the work tree, a line for each file.
type Tree interface {
	Uncommitted(ctx context.Context) ([]string, error)
}

// Issuers reads the discovery document of an issuer.
type Issuers interface {
	Check(ctx context.Context, issuer string) error
}

// Deployment is what is to be judged. An absent Account is not asked: then the
// quotas are not checked, and a finding says so. The same goes for Issuers.
type Deployment struct {
	Stack      string
	Production bool
	TestUsers  bool // administrators may sign in as any user there
	Demand     demand.Demand
	Account    Account
	Issuers    Issuers
	Tree       Tree
	Now        time.Time
}

// Run makes every check.
func Run(ctx context.Context, d Deployment) []Finding {
	r := &report{}
	parameters(r, d)
	queues(r, d)
	schedules(r, d)
	issuers(ctx, r, d)
	tree(ctx, r, d)
	quotas(ctx, r, d)
	return r.findings
}

// ErrFailed: at least one check failed.
var ErrFailed = errors.New("the preflight failed")

// Print writes the findings as a table; the error is ErrFailed if one of them
// must stop the deployment.
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

// check adds a finding that is fine or a failure.
func (r *report) check(fine bool, check, format string, values ...any) {
	v := Failed
	if fine {
		v = OK
	}
	r.add(v, check, format, values...)
}
