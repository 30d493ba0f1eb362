// Package preflight checks before a deployment whether it can succeed: whether the account's
// quotas meet the template's demand, and whether the parameters are sound for an opening day.
//
// It contains AWS's quotas and this project's configuration rules. It makes no changes. A
// value that cannot be read is a failure.
package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	Concurrency int
	Unreserved  int
	Own         int
	// TableReads and TableWrites are the maximum number of units per second of one table.
	TableReads  int
	TableWrites int
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
type Warmth struct {
	Reads  int
	Writes int
}

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

// reserved are words that Cognito refuses in a sign-in domain.
var reserved = []string{"aws", "amazon", "cognito"}

// page checks how buyers sign in on the buyer's page. That nobody can is a warning: a shop
// may have a page of its own.
func page(r *report, d Deployment) {
	const check = "buyer's page"
	origin, prefix := value(d.Demand, "PageOrigin"), value(d.Demand, "SignInDomainPrefix")
	authorize, _, _ := strings.Cut(value(d.Demand, "SignIn"), ",")
	own := slices.Contains([]string{"true", "with-test-users"}, value(d.Demand, "CreateUserPool"))
	if own && prefix == "" || !own && authorize == "" {
		r.add(Warning, check, "nobody can sign in on it: set PageOrigin and SignInDomainPrefix, or with another issuer SignIn")
		return
	}
	if own && slices.ContainsFunc(reserved, func(word string) bool { return strings.Contains(prefix, word) }) {
		r.add(Failed, check, "SignInDomainPrefix=%s: Cognito refuses the words %s", prefix, strings.Join(reserved, ", "))
		return
	}
	served := value(d.Demand, "ApiDomainName")
	switch value(d.Demand, "CreateFront") {
	case "true":
		served = value(d.Demand, "FrontDomainName")
	case "own":
		served = "" // its domain is unknown
	}
	u, err := url.Parse(origin)
	if err != nil || served != "" && u.Host != served {
		r.add(Failed, check, "PageOrigin=%s, but buyers see it at https://%s: the sign-in would come back to another origin", origin, served)
		return
	}
	if origin == "" {
		r.add(Warning, check, "PageOrigin is empty: the page takes whatever origin it is opened at for its own")
		return
	}
	r.add(OK, check, "at %s/s/SALE", origin)
}

// bus checks the bus of the order events. Whether a bus of another account takes them is
// decided by its policy, which cannot be tried before PublishFunction has its role.
func bus(ctx context.Context, r *report, d Deployment) {
	const check = "event bus"
	arn := value(d.Demand, "EventBusArn")
	on := value(d.Demand, "PublishEvents") == "true"
	parts := strings.SplitN(arn, ":", 6) // arn:aws:events:REGION:ACCOUNT:event-bus/NAME
	switch {
	case !on && arn != "":
		r.add(Warning, check, "EventBusArn is unused without PublishEvents=true")
	case !on:
	case arn == "":
		r.add(OK, check, "the stack creates it")
	case len(parts) != 6:
		// CloudFormation refuses the parameter, which is a finding of its own.
	case d.Region != "" && parts[3] != d.Region:
		r.add(Failed, check, "%s is in another region than the stack, %s", arn, d.Region)
	case d.Buses == nil:
		r.add(Warning, check, "%s was not checked", arn)
	default:
		err := d.Buses.Check(ctx, arn)
		r.check(err == nil, check, "%s%s", arn, text(err))
	}
}

// EventBridge checks buses of an account and those of others that let it.
type EventBridge struct{ CLI Program }

// Check implements Buses.
func (b EventBridge) Check(ctx context.Context, arn string) error {
	var found struct{ Arn string }
	return b.CLI.Into(ctx, &found, "events", "describe-event-bus", "--name", arn)
}

const (
	// issuerTime bounds one request to an issuer. API Gateway waits 1.5 s for a JWKS
	// endpoint.
	issuerTime = 5 * time.Second
	// maxDocument is the maximum length of a document, in bytes.
	maxDocument = 1 << 20
)

// Discovery reads an issuer's documents as API Gateway does: over https, first the discovery
// document, then the keys at its jwks_uri.
type Discovery struct{ Client *http.Client }

// Check reads the issuer's discovery document and its keys. The error says why API Gateway
// would refuse all tokens.
func (d Discovery) Check(ctx context.Context, issuer string) error {
	u, err := url.Parse(issuer)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("not an https address, which API Gateway requires")
	}
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := d.get(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &document); err != nil {
		return err
	}
	if document.Issuer != issuer {
		return fmt.Errorf("its discovery document names another issuer: %q", document.Issuer)
	}
	if !strings.HasPrefix(document.Keys, "https://") {
		return fmt.Errorf("its discovery document names no https jwks_uri: %q", document.Keys)
	}
	var keys struct {
		Keys []struct {
			Type string `json:"kty"`
		} `json:"keys"`
	}
	if err := d.get(ctx, document.Keys, &keys); err != nil {
		return err
	}
	for _, k := range keys.Keys {
		if k.Type == "RSA" {
			return nil
		}
	}
	return fmt.Errorf("it publishes no RSA key, and API Gateway accepts only RSA")
}

func (d Discovery) get(ctx context.Context, address string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, issuerTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("call issuer: %w", err)
	}
	response, err := d.Client.Do(request)
	if err != nil {
		return fmt.Errorf("call issuer: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument))
	if err != nil {
		return fmt.Errorf("call issuer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d", address, response.StatusCode)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s is not JSON: %w", address, err)
	}
	return nil
}
