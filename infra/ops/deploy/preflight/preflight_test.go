package preflight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/samconfig"
)

const (
	certificate    = "arn:aws:acm:us-east-1:123456789012:certificate/f"
	key            = "arn:aws:secretsmanager:us-east-1:123456789012:secret:s:SecretString:::v"
	refundKeys     = "arn:aws:secretsmanager:us-east-1:123456789012:secret:shop-refunds-AbC123"
	secret         = "0123456789abcdef0123456789abcdef"
	bus            = "arn:aws:events:us-east-1:123456789012:event-bus/orders"
	topic          = "arn:aws:sns:us-east-1:123456789012:ops"
	restored       = "shop-restored"
	restoredStream = "arn:aws:dynamodb:us-east-1:123456789012:table/shop-restored/stream/2026-11-11T12:00:00.000"
)

// attempt is a sound deployment into production and the account into which it goes, for a test
// to change.
type attempt struct {
	Deployment
	limits  Limits
	given   map[string]string
	changed string            // files of the work tree
	fails   map[string]string // of what is looked up
	offline bool
}

func (a *attempt) failure(of string) error {
	if a.fails[of] != "" {
		return errors.New(a.fails[of])
	}
	return nil
}

func (a *attempt) Limits(context.Context, string) (Limits, error) {
	return a.limits, a.failure("Limits")
}
func (a *attempt) Issuer(context.Context, string) error   { return a.failure("Issuer") }
func (a *attempt) Bus(context.Context, string) error      { return a.failure("Bus") }
func (a *attempt) Balanced(context.Context, string) error { return a.failure("Balanced") }
func (a *attempt) Table(_ context.Context, table, stream string) error {
	if table != restored || stream != "" && stream != restoredStream {
		return fmt.Errorf("table %s with stream %q", table, stream)
	}
	return nil
}

func (a *attempt) give(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		a.given[pairs[i]] = pairs[i+1]
	}
}

func findings(t *testing.T, change func(*attempt)) []Finding {
	t.Helper()
	a := &attempt{fails: map[string]string{}, limits: Limits{ // AWS's default quotas, in an account where the stack is deployed
		Account: "123456789012", Concurrency: 1000, Unreserved: 1000, TableWrites: 40_000, Rate: 10_000,
		Deployed: map[string]string{"WarmWriteUnitsPerSecond": "20000", "MaxWriteRequestUnits": "40000", "PublishEvents": "false"},
	}, given: map[string]string{
		"JwtIssuer": "https://i.test", "JwtAudience": "shop", "AlarmEmail": "ops@example.com",
		"SignInAuthorizeUrl": "https://i.test/authorize", "SignInTokenUrl": "https://i.test/token", "SignInClientId": "page", "PageOrigin": "https://shop.example",
		"PurchaseReservedConcurrency": "500", "PurchaseProvisionedConcurrency": "300", "FinalizeMaximumConcurrency": "20",
		"WarmFrom": "at(2026-11-11T11:50:00)", "WarmUntil": "at(2026-11-11T14:00:00)",
		"WarmWriteUnitsPerSecond": "20000", "MaxWriteRequestUnits": "40000",
		"SeedScheduleExpression": "at(2026-11-11T01:00:00)",
		"SeedScheduleInput":      seeded("2026-11-11T12:00:00Z", "2026-11-11T14:00:00Z"),
		"PurchaseRate":           "5000", "QueryRate": "3600",
	}}
	a.Deployment = Deployment{
		Stack: "shop", Region: "us-east-1", Production: true, Now: time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC),
		Changes: func(context.Context) ([]string, error) { return strings.Fields(a.changed), a.failure("Changes") },
	}
	change(a)
	if !a.offline {
		a.Lookup = a
	}
	var err error
	if a.Template, err = Read(declarations(t), a.Region, a.given); err != nil {
		t.Fatal(err)
	}
	return Run(t.Context(), a.Deployment)
}

// declarations is a file with the template without its resources, which would take long to read each time.
func declarations(t *testing.T) string {
	text, err := os.ReadFile("../../../../template.yaml")
	text, _, _ = bytes.Cut(text, []byte("\nResources:"))
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func seeded(opens, closes string) string {
	return fmt.Sprintf(`{"action":"create","saleId":"s","opensAt":%q,"closesAt":%q}`, opens, closes)
}

// said returns what findings of a verdict say, a line for each.
func said(all []Finding, v Verdict) string {
	var out []string
	for _, f := range all {
		if f.Verdict == v {
			out = append(out, f.Check+": "+f.Says)
		}
	}
	return strings.Join(out, "\n")
}

func TestASoundDeploymentPasses(t *testing.T) {
	var table strings.Builder
	if err := Print(&table, findings(t, func(*attempt) {})); err != nil || strings.Contains(table.String(), "warn") {
		t.Errorf("%v:\n%s", err, &table)
	}
	for _, want := range []string{
		"parameters", "alarms                 ops@example.com", `schedule of the seeding next at 2026-11-11T01:00:00Z, for sale "s"`, "warming                300 environments at 2026-11-11T11:50:00Z, 0 at",
		"issuer                 https://i.test", "buyer's page", "work tree", "account", "Lambda concurrency     533 environments", "DynamoDB capacity      warm for 20,000 writes a second, at most 40,000", "API throttle           5,000",
	} {
		if !strings.Contains(table.String(), "ok    "+want) {
			t.Errorf("no %q in\n%s", want, &table)
		}
	}
}

// openingDay gives the parameters of the document.
func openingDay(t *testing.T) func(*attempt) {
	text, err := os.ReadFile("../../../docs/DEPLOYING.md")
	const first = "\n\"SeedScheduleExpression="
	_, block, found := strings.Cut(string(text), "```toml"+first)
	block, _, closed := strings.Cut(block, "```")
	if err != nil || !found || !closed {
		t.Fatalf("the document has no block of parameters (%v)", err)
	}
	day, err := samconfig.Parse([]byte("[day.deploy.parameters]\nparameter_overrides = ["+first+block+"]"), "day")
	if err != nil {
		t.Fatal(err)
	}
	return func(a *attempt) { maps.Copy(a.given, day.Parameters) }
}

func TestADeploymentIsStoppedIfItWouldFailOrHarm(t *testing.T) {
	gives := func(pairs ...string) func(*attempt) { return func(a *attempt) { a.give(pairs...) } }
	fails := func(what, says string, pairs ...string) func(*attempt) {
		return func(a *attempt) {
			a.fails[what] = says
			a.give(pairs...)
		}
	}
	for _, tt := range []struct {
		verdict    Verdict // the worst
		name, says string  // in the one finding of that verdict
		change     func(*attempt)
	}{
		{Failed, "a parameter that the template does not have", `Isuer="x": the template has no such parameter`, gives("Isuer", "x")},
		{Failed, "a stack whose functions' names would not begin with its own", "has more than 32 characters", func(a *attempt) { a.Stack = strings.Repeat("s", 33) }},
		{Failed, "a page's origin as no browser sends it", "must be origins as browsers send them", gives("CorsAllowedOrigins", "https://www.shop.example/")},
		{Failed, "a signature without its key", "QueryFunction and PurchaseFunction would not start without PaymentLinkKeyArn", gives("PaymentUrl", "https://s/{signature}")},
		{Failed, "an eligibility check without a host", "PurchaseFunction would not start", gives("EligibilityUrl", "https://?key=k")},
		{Failed, "a topic of another region", "PageTopicArn=arn:aws:sns:eu-west-1:123456789012:ops: it must be in the stack's region, us-east-1", gives("PageTopicArn", strings.Replace(topic, "us-east-1", "eu-west-1", 1))},
		{Failed, "a front's certificate of the stack's region", "it must be in the region of a front's certificates, us-east-1", func(a *attempt) {
			a.Region = "eu-west-1"
			a.give("CreateFront", "true", "OriginSecret", secret, "FrontWebAclArn", "arn:aws:wafv2:us-east-1:123456789012:global/webacl/f", "DomainName", "shop.example", "CertificateArn", strings.Replace(certificate, "us-east-1", "eu-west-1", 1))
		}},
		{Failed, "a sign-in without its client", "give all of SignInAuthorizeUrl, SignInTokenUrl and SignInClientId, or none", gives("SignInClientId", "")},
		{Failed, "test users outside dev", "test users: CreateUserPool=with-test-users", gives("CreateUserPool", "with-test-users", "SignInDomainPrefix", "shop")},
		{Failed, "no recipient of alarms in production", "no recipient", gives("AlarmEmail", "", "PageTopicArn", topic)},

		{Failed, "an invalid schedule", "parse at(tomorrow)", gives("SeedScheduleExpression", "at(tomorrow)")},
		{Failed, "a sale that opens before it is seeded", "it opens before it is seeded", gives("SeedScheduleInput", seeded("2026-11-11T01:00:00Z", "2026-11-11T14:00:00Z"))},
		{Failed, "a sale that closes before it opens", "it closes before it opens", gives("SeedScheduleInput", seeded("2026-11-11T12:00:00Z", "2026-11-11T12:00:00Z"))},
		{Failed, "a sale without a time", "opensAt", gives("SeedScheduleInput", `{"action":"create","saleId":"s"}`)},
		{Failed, "a scheduled edit without an instant", `pause needs "at"`, gives("SeedScheduleInput", `{"action":"pause","saleId":"s"}`)},
		{Failed, "an input that is not JSON", "not a JSON object", gives("SeedScheduleInput", "{")},
		{Failed, "a cooling before the warming", "is before WarmFrom", gives("WarmUntil", "at(2026-11-11T11:00:00)")},

		{Failed, "a rule of the template that does not hold", "parameters: give JwtIssuer", gives("JwtIssuer", "")},
		{Failed, "an unreachable issuer", "https://i.test: connection refused", fails("Issuer", "connection refused")},
		{Failed, "a page at another domain than the API's", "buyers see it at https://api.example", gives("DomainName", "api.example", "CertificateArn", certificate)},
		{Failed, "a page at another domain than the front's", "buyers see it at https://other.example", gives("CreateFront", "true", "OriginSecret", secret, "DomainName", "other.example", "CertificateArn", certificate)},
		{Failed, "a bus that is not there", "no such bus", fails("Bus", "no such bus", "PublishEvents", "true", "EventBusArn", bus)},
		{Failed, "a work tree with changes in production", "1 files are not committed, the first: x.go", func(a *attempt) { a.changed = "x.go" }},
		{Failed, "a tree without its history in production", "this is no git clone", fails("Changes", "this is no git clone")},

		{Unread, "an account that does not answer", "cannot be read: no credentials", fails("Limits", "no credentials")},
		{Failed, "more reserved than the account has", "of which 532 can be reserved", func(a *attempt) { a.limits.Unreserved = 632 }},
		{Failed, "too much provisioned without a reservation", "0 environments reserved and 901 more provisioned", gives("PurchaseReservedConcurrency", "0", "PurchaseProvisionedConcurrency", "901")},
		{Failed, "RefundFunction's environment beside all others", "901 environments reserved", gives("PurchaseReservedConcurrency", "867", "RefundKeysArn", refundKeys)},
		{Failed, "a secret of refunds by a part of its ARN", "may not read it", gives("RefundKeysArn", strings.TrimSuffix(refundKeys, "-AbC123"))},
		{Failed, "the stack's whole reserve again beside another's", "534 environments reserved", func(a *attempt) {
			a.limits.Unreserved = 633
			a.give("FinalizeMaximumConcurrency", "21")
		}},
		{Failed, "a table warmer than the quota", "50,000 writes a second, at most 0; the account allows a table 40,000", gives("WarmWriteUnitsPerSecond", "50000", "MaxWriteRequestUnits", "0")},
		{Failed, "a table limited beyond the quota", "at most 40,001", gives("MaxWriteRequestUnits", "40001")},
		{Failed, "less warm throughput than the table has by now", "set WarmWriteUnitsPerSecond=20001", func(a *attempt) {
			a.limits.WarmWrites = 20_001
			a.limits.Deployed["WarmWriteUnitsPerSecond"] = "10000"
		}},
		{Failed, "a throttle above the account's", "10,001 requests per second", gives("PurchaseRate", "10001")},

		{Failed, "another table's stream", "is the stream of another table", gives("ExistingTable", "shop", "ExistingTableStreamArn", restoredStream, "PublishEvents", "true")},
		{Failed, "another stream of the table", "with stream", func(a *attempt) {
			a.limits.Deployed["ExistingTable"] = restored
			a.give("ExistingTable", restored, "ExistingTableStreamArn", restoredStream+"1", "PublishEvents", "true")
		}},
		{Failed, "a canary onto another table", "two tables at a time", gives("ExistingTable", restored, "DeploymentType", "Canary10Percent5Minutes")},
		{Failed, "back to a new, empty table", "set ExistingTable=shop-restored", func(a *attempt) { a.limits.Deployed["ExistingTable"] = restored }},
		{Failed, "a table whose receipts do not balance", "the receipts of shop-restored balance: sale moutai: stock is 9", func(a *attempt) {
			a.limits.Deployed = nil
			fails("Balanced", "sale moutai: stock is 9", "ExistingTable", restored)(a)
		}},

		{OK, "test users in dev", "", func(a *attempt) {
			a.TestUsers = true
			a.give("CreateUserPool", "with-test-users", "SignInDomainPrefix", "shop")
		}},
		{OK, "no recipient of alarms outside production", "", func(a *attempt) {
			a.Production = false
			a.give("AlarmEmail", "")
		}},
		{Warning, "uncommitted changes outside production", "the first: x", func(a *attempt) { a.Production, a.changed = false, "x" }},
		{OK, "topics instead of an address", "", gives("AlarmEmail", "", "PageTopicArn", topic, "TicketTopicArn", topic)},
		{OK, "a secret of the stack's region", "", gives("StripeKeysArn", key)},
		{OK, "a signature with its key", "", gives("PaymentUrl", "https://s/{signature}", "PaymentLinkKeyArn", key)},
		{OK, "an edit that is off", "", gives("SeedScheduleExpression", "", "SeedScheduleInput", `{"action":"pause"}`)},
		{OK, "an edit that fills in its own time", "", gives("SeedScheduleInput", `{"action":"pause","at":"<aws.scheduler.scheduled-time>"}`)},
		{Warning, "a sale whose seeding is off", "will not be seeded automatically", gives("SeedScheduleExpression", "")},
		{Warning, "a roll-back on the day, when the sale has been seeded", "is in the past", gives("SeedScheduleExpression", "at(2026-11-10T11:59:59)")},

		{OK, "the stack's own pool", "", gives("CreateUserPool", "true", "JwtIssuer", "", "SignInDomainPrefix", "shop")},
		{Warning, "a page on which nobody can sign in", "nobody can sign in on it", gives("SignInAuthorizeUrl", "", "SignInTokenUrl", "", "SignInClientId", "")},
		{Warning, "a page without an origin", "PageOrigin is empty", gives("PageOrigin", "")},
		{OK, "a page at the front's domain, which is not the API's", "", gives("CreateFront", "true", "OriginSecret", secret, "DomainName", "shop.example", "CertificateArn", certificate)},
		{OK, "a page at a front of their own, whose domain is unknown", "", gives("CreateFront", "own", "OriginSecret", secret, "DomainName", "api.example", "CertificateArn", certificate)},
		{OK, "a bus that is there", "", gives("PublishEvents", "true", "EventBusArn", bus)},

		{Warning, "an account that is not asked", "neither the account nor an issuer", func(a *attempt) { a.offline = true }},
		{OK, "a new account's quota of ten, if nothing is reserved", "", func(a *attempt) {
			a.limits.Concurrency, a.limits.Unreserved = 10, 10
			a.give("PurchaseProvisionedConcurrency", "0", "PurchaseReservedConcurrency", "0")
		}},
		{OK, "exactly what fits", "", gives("PurchaseReservedConcurrency", "867")},
		{OK, "what this stack has reserved before", "", func(a *attempt) {
			a.limits.Unreserved = 480
			a.limits.Deployed["PurchaseReservedConcurrency"], a.limits.Deployed["FinalizeMaximumConcurrency"] = "520", "20"
		}},
		{Warning, "what this stack has reserved before by an earlier release's list", "which is gone: write that of Purchase", func(a *attempt) {
			a.limits.Unreserved = 480
			a.limits.Deployed["ReservedConcurrency"] = "Purchase:500,Query:0,Page:0,Pay:0,Operate:10,Finalize:20,Reconcile:1,Release:1,Draw:1,Publish:0"
		}},
		{OK, "a first deployment", "", func(a *attempt) { a.limits.Deployed = nil }},
		{OK, "a table as warm as it is to be", "", func(a *attempt) { a.limits.WarmWrites = 20_000 }},
		{OK, "a warmer table than a deployment says that says nothing of it", "", func(a *attempt) {
			a.limits.WarmWrites = 20_000
			a.give("WarmWriteUnitsPerSecond", "0")
		}},
		{Warning, "a roll-back that leaves a table alone that is warmer by now", "set WarmWriteUnitsPerSecond=20001", func(a *attempt) {
			a.limits.WarmWrites = 20_001
		}},
		{Warning, "routes that share more than the account's rate", "together admit 10,001 requests per second; the account refuses what exceeds 10,000", gives("QueryRate", "3601")},
		{OK, "routes that share the account's rate", "", gives("QueryRate", "3600")},

		{Warning, "a provider's signing secrets that the stack has and the deployment does not", "the stack has StripeKeysArn=arn:s and this deployment has none", func(a *attempt) {
			a.limits.Deployed["StripeKeysArn"], a.limits.Deployed["StandardWebhooksKeysArn"] = "arn:s", ""
		}},
		{OK, "a provider's other signing secrets", "", func(a *attempt) {
			a.limits.Deployed["StandardWebhooksKeysArn"] = "arn:s"
			a.give("StandardWebhooksKeysArn", key)
		}},
		{Warning, "a boundary that the stack has and the deployment does not", "roles lose their boundary", func(a *attempt) { a.limits.Deployed["PermissionsBoundaryArn"] = "arn:b" }},

		{Warning, "a table that is taken over", "the functions use shop-restored", gives("ExistingTable", restored, "DeploymentType", "AllAtOnce", "WarmWriteUnitsPerSecond", "0", "MaxWriteRequestUnits", "0")},
		{Warning, "the opening day in DEPLOYING.md", "all routes together admit 15,000 requests per second", openingDay(t)},
		{OK, "the same table again, with its stream", "", func(a *attempt) {
			a.limits.Deployed["ExistingTable"] = restored
			fails("Balanced", "it is in use")(a)
			a.give("ExistingTable", restored, "ExistingTableStreamArn", restoredStream, "PublishEvents", "true", "WarmWriteUnitsPerSecond", "0", "MaxWriteRequestUnits", "0")
		}},
		{OK, "a stream that nobody reads", "", func(a *attempt) {
			a.limits.Deployed["ExistingTable"] = restored
			a.give("ExistingTable", restored, "ExistingTableStreamArn", restoredStream+"1", "WarmWriteUnitsPerSecond", "0", "MaxWriteRequestUnits", "0")
		}},
		{OK, "a first deployment onto a table that exists", "", func(a *attempt) {
			a.limits.Deployed = nil
			a.give("ExistingTable", restored, "DeploymentType", "Canary10Percent5Minutes", "WarmWriteUnitsPerSecond", "0", "MaxWriteRequestUnits", "0")
		}},
		{Warning, "capacity that does not reach a table", "MaxWriteRequestUnits=4000 has no effect on shop-restored", func(a *attempt) {
			a.limits.Deployed["ExistingTable"] = restored
			a.give("ExistingTable", restored, "MaxWriteRequestUnits", "4000", "WarmWriteUnitsPerSecond", "0")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := findings(t, tt.change)
			failed, warnings := said(all, Failed), said(all, Warning)
			got := map[Verdict]string{Failed: failed, Warning: warnings, OK: "", Unread: said(all, Unread)}[tt.verdict]
			if !strings.Contains(got, tt.says) || strings.Contains(got, "\n") || tt.verdict != Failed && failed != "" || tt.verdict == OK && warnings != "" {
				t.Errorf("failed: %q; warnings %q, want %s with %q", failed, warnings, tt.verdict, tt.says)
			}
			if err := Print(&strings.Builder{}, all); errors.Is(err, ErrFailed) != (tt.verdict == Failed) || errors.Is(err, ErrUnread) != (tt.verdict == Unread) {
				t.Errorf("%s: %v", tt.verdict, err)
			}
		})
	}
}

// Each parameter of an earlier release, as a file gives it or the stack has it, is named with what takes its place.
func TestParametersThatAreGoneAreNamedWithWhatTakesTheirPlace(t *testing.T) {
	text, err := os.ReadFile(declarations(t))
	for name, row := range gone {
		if err != nil || bytes.Contains(text, []byte("\n  "+name+":\n    Type:")) {
			t.Errorf("%v: the template has %s", err, name)
		}
		deployed := func(value string) string {
			return said(findings(t, func(a *attempt) { a.limits.Deployed[name] = value }), Warning)
		}
		given := said(findings(t, func(a *attempt) { a.give(name, "x") }), Failed)
		if want := name + "=x is gone: " + row.says; given != "parameters: "+want {
			t.Errorf("%s is given: %q, want %q", name, given, want)
		}
		if had, want := deployed("x"), "parameters: the stack has "+name+"=x, which is gone: "+row.says; had != want || deployed(row.was) != "" {
			t.Errorf("the stack has %s: %q, and by default %q, want %q", name, had, deployed(row.was), want)
		}
	}
}
