package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/ops/deploy/demand"
)

var now = time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)

// account is an account with AWS's default quotas.
type account struct {
	limits Limits
	fault  error
	asked  string // the stack
}

func (a *account) Limits(_ context.Context, stack string) (Limits, error) {
	a.asked = stack
	return a.limits, a.fault
}

func usual() *account {
	return &account{limits: Limits{Account: "123456789012", Concurrency: 1000, Unreserved: 1000, TableReads: 40_000, TableWrites: 40_000, Rate: 10_000, Burst: 5000, Status: "UPDATE_COMPLETE"}}
}

type committed []string

func (c committed) Uncommitted(context.Context) ([]string, error) { return c, nil }

type issuersSay map[string]error

func (i issuersSay) Check(_ context.Context, issuer string) error { return i[issuer] }

// sound returns a production deployment without faults.
func sound() Deployment {
	return Deployment{
		Stack: "shop", Production: true, Account: usual(), Issuers: issuersSay{}, Tree: committed{}, Now: now,
		Demand: demand.Demand{
			Parameters: []demand.Parameter{{Name: "AlarmEmail", Value: "ops@example.com"}},
			Functions: []demand.Function{
				{ID: "Buy", Timeout: 6, Reserved: 500, Provisioned: 300, Warming: []demand.Warming{
					{Name: "warm", Expression: "at(2026-11-11T19:50:00)", Timezone: "Asia/Shanghai", Environments: 300},
					{Name: "cool", Expression: "at(2026-11-11T22:00:00)", Timezone: "Asia/Shanghai"},
				}},
				{ID: "Finish", Timeout: 5, Reserved: 20, Sources: []demand.Source{{Queue: "Orders", Visibility: 31, Window: 1, MaxConcurrency: 20}}},
				{ID: "Seed", Timeout: 120, Schedules: []demand.Schedule{{
					Name: "SeedOnce", Enabled: true, Expression: "at(2026-11-11T09:00:00)", Timezone: "Asia/Shanghai",
					Input: `{"action":"create","saleId":"s","opensAt":"2026-11-11T12:00:00Z","closesAt":"2026-11-11T14:00:00Z"}`,
				}}},
			},
			Tables: []demand.Table{{ID: "Ledger", WarmReads: 12_000, WarmWrites: 20_000, MaxWrite: 40_000, Settings: "20,000"}},
			Rate:   8000, TotalRate: 9000, Burst: 4000, Issuers: []string{"https://i.test"},
		},
	}
}

// give adds parameters to a deployment, each by its name and its value.
func give(d *Deployment, parameters ...string) {
	for p := range slices.Chunk(parameters, 2) {
		d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: p[0], Value: p[1]})
	}
}

// failed returns the failed checks, a line for each.
func failed(findings []Finding) string {
	var out []string
	for _, f := range findings {
		if f.Verdict == Failed {
			out = append(out, f.Check+": "+f.Says)
		}
	}
	return strings.Join(out, "\n")
}

func TestASoundDeploymentPasses(t *testing.T) {
	d := sound()
	findings := Run(t.Context(), d)
	var table strings.Builder
	if err := Print(&table, findings); err != nil {
		t.Errorf("%v:\n%s", err, &table)
	}
	for _, check := range []string{"parameters", "alarms", "visibility", "schedule SeedOnce", "warming Buy", "issuer", "work tree", "account", "Lambda concurrency", "DynamoDB writes", "API throttle"} {
		if !strings.Contains(table.String(), "ok    "+check) {
			t.Errorf("%s was not checked:\n%s", check, &table)
		}
	}
	if asked := d.Account.(*account).asked; asked != "shop" {
		t.Errorf("read the limits for stack %q", asked)
	}
}

func TestADeploymentThatCannotSucceedIsStopped(t *testing.T) {
	tests := []struct {
		name, says string
		spoil      func(*Deployment)
	}{
		{"a signature without its key", "PaymentUrl has a {signature}: QueryFunction would not start without PaymentLinkKeyArn", func(d *Deployment) { give(d, "PaymentUrl", "https://s/{signature}") }},
		{"a parameter without a value", "JwtIssuer has no value", func(d *Deployment) {
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: "JwtIssuer", Missing: true})
		}},
		{"a parameter that CloudFormation refuses", `LogLevel="LOUD": it is not`, func(d *Deployment) {
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: "LogLevel", Value: "LOUD", Problem: "it is not one of them"})
		}},
		{"an eligibility check over plain http", "must begin with https:// outside of loopback", func(d *Deployment) { give(d, "EligibilityUrl", "http://check.example.com/?key=k") }},
		{"a topic of another region", "PageTopicArn=arn:aws:sns:eu-west-1:123456789012:ops: it must be in the stack's region, us-east-1", func(d *Deployment) {
			d.Region = "us-east-1"
			give(d, "PageTopicArn", "arn:aws:sns:eu-west-1:123456789012:ops")
		}},
		{"too little time before a roll is read", "DrawSeconds has 899 s before the roll is read: at least 900", func(d *Deployment) { give(d, "DrawSeconds", "899/3600/60") }},
		{"too little time before the dice", "DrawSeconds has 3599 s before the dice: at least 3600", func(d *Deployment) { give(d, "DrawSeconds", "900/3599/60") }},
		{"too little time between calls", "DrawSeconds has 59 s between two calls: at least 60", func(d *Deployment) { give(d, "DrawSeconds", "900/3600/59") }},
		{"more than a day before the dice", "DrawSeconds has 86401 s before the dice", func(d *Deployment) { give(d, "DrawSeconds", "900/86401/60") }},
		{"no recipient of alarms in production", "no recipient", func(d *Deployment) { d.Demand.Parameters[0].Value = "" }},
		{"test users outside dev", "test users: CreateUserPool=with-test-users", func(d *Deployment) {
			d.Production = false
			give(d, "CreateUserPool", "with-test-users")
		}},
		{"a front that is switched off while the stack keeps its secret", "add OriginSecret= to the same deployment", func(d *Deployment) {
			d.Account.(*account).limits.Parameters = map[string]string{"CreateFront": "true", "OriginSecret": "****"}
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: "CreateFront", Value: "false"}, demand.Parameter{Name: "OriginSecret", Kept: true})
		}},
		{"a stack whose queue would have too long a name", "stack_name has 70 characters", func(d *Deployment) { d.Stack = strings.Repeat("s", 70) }},
		{"a message that reappears too early", "hides a message for 30 s", func(d *Deployment) { d.Demand.Functions[1].Sources[0].Visibility = 30 }},
		{"an invalid schedule", "parse schedule", func(d *Deployment) { d.Demand.Functions[2].Schedules[0].Expression = "tomorrow" }},
		{"an invalid schedule that is off", "rate(2 day)", func(d *Deployment) {
			d.Demand.Functions[2].Schedules[0].Enabled, d.Demand.Functions[2].Schedules[0].Expression = false, "rate(2 day)"
		}},
		{"an invalid time zone", "load time zone", func(d *Deployment) { d.Demand.Functions[2].Schedules[0].Timezone = "Local" }},
		{"a sale that opens before it is seeded", "opens at 2026-11-11T01:00:00Z, before it is seeded", func(d *Deployment) {
			d.Demand.Functions[2].Schedules[0].Input = `{"action":"create","saleId":"s","opensAt":"2026-11-11T01:00:00Z","closesAt":"2026-11-11T14:00:00Z"}`
		}},
		{"a sale that closes before it opens", "closes before it opens", func(d *Deployment) {
			d.Demand.Functions[2].Schedules[0].Input = `{"action":"create","saleId":"s","opensAt":"2026-11-11T12:00:00Z","closesAt":"2026-11-11T12:00:00Z"}`
		}},
		{"a sale without a time", "opensAt", func(d *Deployment) {
			d.Demand.Functions[2].Schedules[0].Input = `{"action":"create","saleId":"s"}`
		}},
		{"a scheduled edit without an instant", `pause needs "at"`, func(d *Deployment) {
			d.Demand.Functions[2].Schedules[0].Input = `{"action":"pause","saleId":"s"}`
		}},
		{"an input that is not JSON", "not JSON", func(d *Deployment) { d.Demand.Functions[2].Schedules[0].Input = "{" }},
		{"an input that is not JSON, of a schedule that is off", "not JSON", func(d *Deployment) {
			d.Demand.Functions[2].Schedules[0].Enabled, d.Demand.Functions[2].Schedules[0].Input = false, "{"
		}},
		{"an input that is not a JSON object", "not a JSON object", func(d *Deployment) { d.Demand.Functions[2].Schedules[0].Input = "[]" }},
		{"a rule of the template that does not hold", "give JwtIssuer", func(d *Deployment) { d.Demand.Broken = []string{"give JwtIssuer"} }},
		{"an invalid warming schedule", "parse schedule", func(d *Deployment) { d.Demand.Functions[0].Warming[0].Expression = "" }},
		{"a cooling before the warming", "before the start of", func(d *Deployment) { d.Demand.Functions[0].Warming[1].Expression = "at(2026-11-11T19:00:00)" }},
		{"an unreachable issuer", "https://i.test: connection refused", func(d *Deployment) {
			d.Issuers = issuersSay{"https://i.test": errors.New("connection refused")}
		}},
		{"a work tree with changes in production", "1 files are not committed, the first: M x.go", func(d *Deployment) { d.Tree = committed{" M x.go"} }},
		{"a tree without its history in production", "this is no git clone", func(d *Deployment) { d.Tree = Git{t.TempDir()} }},
		{"an account that does not answer", "cannot be read: no credentials", func(d *Deployment) {
			d.Account = &account{fault: errors.New("no credentials")}
		}},
		{"more reserved than the account has", "of which 519 can be reserved", func(d *Deployment) { d.Account.(*account).limits.Unreserved = 619 }},
		{"a new account's quota of ten", "allows 10 (concurrent executions), of which 0 can", func(d *Deployment) {
			d.Account.(*account).limits.Concurrency, d.Account.(*account).limits.Unreserved = 10, 10
		}},
		{"too much provisioned without a reservation", "20 environments reserved and 900 more provisioned", func(d *Deployment) {
			d.Demand.Functions[0].Reserved, d.Demand.Functions[0].Provisioned = 0, 900
		}},
		{"more provisioned than reserved", "Buy: 501 environments provisioned, but 500 reserved", func(d *Deployment) { d.Demand.Functions[0].Provisioned = 501 }},
		{"a poller beyond its function", "its poller may run 21 environments, but 20 are reserved", func(d *Deployment) { d.Demand.Functions[1].Sources[0].MaxConcurrency = 21 }},
		{"a table warmer than the quota", "warm 50,000, at most the quota; the account allows 40,000", func(d *Deployment) {
			d.Demand.Tables[0].WarmWrites, d.Demand.Tables[0].MaxWrite = 50_000, 0
		}},
		{"a table warmer for reads than the quota", "warm 40,001; the account allows 40,000 read units", func(d *Deployment) { d.Demand.Tables[0].WarmReads = 40_001 }},
		{"a limit that is removed from a table that is not there yet", "Ledger: a new table has no limit to remove", func(d *Deployment) {
			d.Account.(*account).limits.Status, d.Demand.Tables[0].MaxWrite = "", -1
		}},
		{"a table limited beyond the quota", "at most 40,001", func(d *Deployment) { d.Demand.Tables[0].MaxWrite = 40_001 }},
		{"a table warmer than its own limit", "above its own limit of 10000", func(d *Deployment) { d.Demand.Tables[0].MaxWrite = 10_000 }},
		{"a warm throughput below a new table's", "below the 4000", func(d *Deployment) { d.Demand.Tables[0].WarmWrites = 3999 }},
		{"a throttle above the account's", "10,001 requests per second", func(d *Deployment) { d.Demand.Rate = 10_001 }},
		{"a stack whose creation failed", "shop is ROLLBACK_COMPLETE and can only be deleted", func(d *Deployment) { d.Account.(*account).limits.Status = "ROLLBACK_COMPLETE" }},
		{"a stack that could not be rolled back", "continue-update-rollback", func(d *Deployment) { d.Account.(*account).limits.Status = "UPDATE_ROLLBACK_FAILED" }},
		{"a stack that is being deployed", "UPDATE_IN_PROGRESS: wait", func(d *Deployment) { d.Account.(*account).limits.Status = "UPDATE_IN_PROGRESS" }},
		{"less warm throughput than the table has by now", "set WarmReadUnitsPerSecond=20000 WarmWriteUnitsPerSecond=80000", func(d *Deployment) {
			l := &d.Account.(*account).limits
			l.TableWrites, l.Tables = 80_000, map[string]Warmth{"Ledger": {Reads: 20_000, Writes: 40_000}}
			d.Demand.Tables[0].WarmWrites, d.Demand.Tables[0].MaxWrite = 80_000, 80_000
		}},
		{"warm throughput for fewer writes than the table has", "set WarmReadUnitsPerSecond=12000 WarmWriteUnitsPerSecond=20001", func(d *Deployment) {
			d.Account.(*account).limits.Tables = map[string]Warmth{"Ledger": {Reads: 12_000, Writes: 20_001}}
		}},
		{"warm throughput that differs from the stack's and is less than the table's", "DynamoDB refuses less", func(d *Deployment) {
			d.Account.(*account).limits.Tables = map[string]Warmth{"Ledger": {Reads: 20_000, Writes: 20_000}}
			d.DemandOf = func(map[string]string) (demand.Demand, error) {
				return demand.Demand{Tables: []demand.Table{{ID: "Ledger", Settings: "10,000"}}}, nil
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := sound()
			tt.spoil(&d)
			findings := Run(t.Context(), d)
			if got := failed(findings); !strings.Contains(got, tt.says) || strings.Contains(got, "\n") {
				t.Errorf("failed:\n%s\nwant a failure with %q", got, tt.says)
			}
			var table strings.Builder
			if err := Print(&table, findings); !errors.Is(err, ErrFailed) {
				t.Errorf("%v, want %v", err, ErrFailed)
			}
		})
	}
}

// The operators' API would let a buyer's token of that audience in, and ask only for its roles.
func TestTheBuyersAudienceIsRefusedForOperators(t *testing.T) {
	const refusal = "parameters: OperatorAudience must not be JwtAudience, or buyers' tokens would be operators' tokens"
	for name, tt := range map[string]struct {
		jwt, operator [2]string // issuer and audience
		pool          string
		want          string
	}{
		"the same issuer and the same audience":       {[2]string{"https://id.test", "shop"}, [2]string{"https://id.test", "shop"}, "false", refusal},
		"another issuer and the same audience":        {[2]string{"https://id.test", "shop"}, [2]string{"https://staff.test", "shop"}, "false", refusal},
		"the same issuer and another audience":        {[2]string{"https://id.test", "shop"}, [2]string{"https://id.test", "staff"}, "false", ""},
		"another issuer and another audience":         {[2]string{"https://id.test", "shop"}, [2]string{"https://staff.test", "staff"}, "false", ""},
		"the stack's own two pools":                   {pool: "true"},
		"an issuer beside the stack's pool of buyers": {operator: [2]string{"https://staff.test", "staff"}, pool: "true"},
	} {
		read, err := demand.Read("../../../../template.yaml", "us-east-1", map[string]string{
			"JwtIssuer": tt.jwt[0], "JwtAudience": tt.jwt[1], "CreateUserPool": tt.pool,
			"CreateOperatorApi": "true", "OperatorIssuer": tt.operator[0], "OperatorAudience": tt.operator[1],
		})
		if err != nil {
			t.Fatal(err)
		}
		d := sound()
		d.Demand.Broken = read.Broken
		if got := failed(Run(t.Context(), d)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestAcceptableDeploymentsAreNotStopped(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Deployment)
	}{
		{"a tree without its history outside production", func(d *Deployment) { d.Production, d.Tree = false, Git{t.TempDir()} }},
		{"uncommitted changes outside production", func(d *Deployment) { d.Production, d.Tree = false, committed{"?? x"} }},
		{"test users in dev", func(d *Deployment) {
			d.TestUsers = true
			give(d, "CreateUserPool", "with-test-users")
		}},
		{"no recipient of alarms outside production", func(d *Deployment) { d.Production, d.Demand.Parameters = false, nil }},
		{"an issuer that the deployment creates", func(d *Deployment) { d.Demand.Issuers = nil }},
		{"a front that is switched off with its secret", func(d *Deployment) {
			d.Account.(*account).limits.Parameters = map[string]string{"CreateFront": "true", "OriginSecret": "****"}
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: "CreateFront", Value: "false"}, demand.Parameter{Name: "OriginSecret"})
		}},
		{"a front that a stack never had", func(d *Deployment) {
			d.Account.(*account).limits.Parameters = map[string]string{"CreateFront": "false", "OriginSecret": "****"}
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: "CreateFront", Value: "false"}, demand.Parameter{Name: "OriginSecret", Kept: true})
		}},
		{"a front of their own instead of the stack's", func(d *Deployment) {
			d.Account.(*account).limits.Parameters = map[string]string{"CreateFront": "true", "OriginSecret": "****"}
			d.Demand.Parameters = append(d.Demand.Parameters, demand.Parameter{Name: "CreateFront", Value: "own"}, demand.Parameter{Name: "OriginSecret", Kept: true})
		}},
		{"the longest name of a stack", func(d *Deployment) { d.Stack = strings.Repeat("s", 69) }},
		{"a schedule that is off", func(d *Deployment) {
			s := &d.Demand.Functions[2].Schedules[0]
			s.Enabled, s.Expression = false, "at(2020-01-01T00:00:00)"
		}},
		{"what this stack has reserved before", func(d *Deployment) {
			l := &d.Account.(*account).limits
			l.Unreserved, l.Own = 480, 520
		}},
		{"a stack that was rolled back", func(d *Deployment) { d.Account.(*account).limits.Status = "UPDATE_ROLLBACK_COMPLETE" }},
		{"a first deployment", func(d *Deployment) { d.Account.(*account).limits.Status = "" }},
		{"a first deployment onto a table that exists", func(d *Deployment) {
			d.Tables, d.Account.(*account).limits.Status = tables{restored: ""}, ""
			give(d, "ExistingTable", restored, "DeploymentType", "Canary10Percent5Minutes")
		}},
		{"a limit that is removed from a table", func(d *Deployment) { d.Demand.Tables[0].MaxWrite = -1 }},
		{"topics and secrets of the stack's region", func(d *Deployment) {
			d.Region = "eu-west-1"
			give(d, "TicketTopicArn", "arn:aws:sns:eu-west-1:123456789012:ops", "StripeKeysArn", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:s:SecretString:::v")
		}},
		{"exactly what fits", func(d *Deployment) { d.Demand.Functions[0].Reserved = 880 }},
		{"a table as warm as it is to be", func(d *Deployment) {
			d.Account.(*account).limits.Tables = map[string]Warmth{"Ledger": {Reads: 12_000, Writes: 20_000}}
		}},
		{"a warmer table than a deployment says that says nothing of it", func(d *Deployment) {
			d.Account.(*account).limits.Tables = map[string]Warmth{"Ledger": {Reads: 12_000, Writes: 20_000}}
			d.Demand.Tables[0].WarmReads, d.Demand.Tables[0].WarmWrites = 0, 0
		}},
		{"topics instead of an address", func(d *Deployment) {
			const topic = "arn:aws:sns:us-east-1:123456789012:ops"
			d.Demand.Parameters = []demand.Parameter{{Name: "PageTopicArn", Value: topic}, {Name: "TicketTopicArn", Value: topic}}
		}},
		{"a schedule that fills in its own time", func(d *Deployment) {
			d.Demand.Functions[2].Schedules[0].Input = `{"action":"pause","at":"<aws.scheduler.scheduled-time>"}`
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := sound()
			tt.change(&d)
			if got := failed(Run(t.Context(), d)); got != "" {
				t.Errorf("failed:\n%s", got)
			}
		})
	}
}

func TestWhatLimitsASaleAndCanBeDeployedIsAWarning(t *testing.T) {
	tests := []struct {
		name, says string // nothing: no warning
		change     func(*Deployment)
	}{
		{"a new account's quota of ten, if nothing is reserved", "allows 10 concurrent executions and so 100 requests per second", func(d *Deployment) {
			d.Account.(*account).limits.Concurrency, d.Account.(*account).limits.Unreserved = 10, 10
			for i := range d.Demand.Functions {
				f := &d.Demand.Functions[i]
				f.Reserved, f.Provisioned, f.Warming = 0, 0, nil
			}
		}},
		{"an account that is not asked", "not compared with the account", func(d *Deployment) { d.Account = nil }},
		{"an issuer that is not asked", "https://i.test was not checked", func(d *Deployment) { d.Issuers = nil }},
		{"a sale whose seeding is off", "will not be seeded automatically", func(d *Deployment) { d.Demand.Functions[2].Schedules[0].Enabled = false }},
		{"an edit that is off", "", func(d *Deployment) {
			d.Demand.Functions[2].Schedules[0].Enabled, d.Demand.Functions[2].Schedules[0].Input = false, `{"action":"pause"}`
		}},
		{"a roll-back on the day, when the sale has been seeded", "is in the past", func(d *Deployment) {
			d.Demand.Functions[2].Schedules[0].Expression = "at(2026-11-10T19:59:59)" // 11:59:59Z
		}},
		{"a roll-back on the day, when environments have been warmed", "is in the past", func(d *Deployment) {
			for i := range d.Demand.Functions[0].Warming {
				d.Demand.Functions[0].Warming[i].Expression = "at(2026-11-10T19:50:00)"
			}
		}},
		{"a burst above the account's", "5,001 requests; the account's APIs share 5,000", func(d *Deployment) { d.Demand.Burst = 5001 }},
		{"routes that share more than the account's rate", "together admit 12,000 requests per second; the account refuses what exceeds 10,000", func(d *Deployment) {
			d.Demand.Rate, d.Demand.TotalRate = 6000, 12_000
		}},
		{"routes that share the account's rate", "", func(d *Deployment) { d.Demand.TotalRate = 10_000 }},
		{"a signature with its key", "", func(d *Deployment) { give(d, "PaymentUrl", "https://s/{signature}", "PaymentLinkKeyArn", "arn:k") }},
		{"a provider's signing secrets that the stack has and the deployment does not", "has StripeKeysArn=arn:s and this deployment has none", func(d *Deployment) {
			d.Account.(*account).limits.Parameters = map[string]string{"StripeKeysArn": "arn:s", "StandardWebhooksKeysArn": ""}
		}},
		{"a boundary that the stack has and the deployment does not", "have the boundary arn:b, which this deployment takes away", func(d *Deployment) {
			d.Account.(*account).limits.Parameters = map[string]string{"PermissionsBoundaryArn": "arn:b"}
		}},
		{"a provider's other signing secrets", "", func(d *Deployment) {
			d.Account.(*account).limits.Parameters = map[string]string{"StandardWebhooksKeysArn": "arn:s"}
			give(d, "StandardWebhooksKeysArn", "arn:t")
		}},
		{"a roll-back that leaves a table alone that is warmer by now", "set WarmReadUnitsPerSecond=20000 WarmWriteUnitsPerSecond=20000", func(d *Deployment) {
			l := &d.Account.(*account).limits
			l.Tables, l.Parameters = map[string]Warmth{"Ledger": {Reads: 20_000, Writes: 20_000}}, map[string]string{"Warm": "20,000"}
			d.DemandOf = func(parameters map[string]string) (demand.Demand, error) {
				return demand.Demand{Tables: []demand.Table{{ID: "Ledger", Settings: parameters["Warm"]}}}, nil
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := sound()
			tt.change(&d)
			findings := Run(t.Context(), d)
			var warnings []string
			for _, f := range findings {
				if f.Verdict == Warning && !strings.HasPrefix(f.Check, "buyer's page") {
					warnings = append(warnings, f.Says)
				}
			}
			said := strings.Join(warnings, "\n")
			if got := failed(findings); got != "" || !strings.Contains(said, tt.says) || len(warnings) != min(len(tt.says), 1) {
				t.Errorf("failed: %q; warnings %q, want %q", got, said, tt.says)
			}
		})
	}
}
