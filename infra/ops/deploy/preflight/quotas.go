package preflight

import (
	"context"
	"slices"
	"strings"

	"flashsale/infra/ops/deploy/demand"
)

const (
	// keptFree is the part of an account's concurrency that Lambda does not allow to be
	// reserved.
	keptFree = 100
	// perConcurrency is Lambda's limit of requests a second for each concurrent execution.
	perConcurrency = 10
	// leastWarm is the capacity of a new on-demand table, in write units per second.
	leastWarm = 4000
)

func quotas(ctx context.Context, r *report, d Deployment) {
	warm(r, d)
	concurrencyByFunction(r, d)
	if d.Account == nil {
		r.add(Warning, "quotas", "not compared with the account (-offline)")
		return
	}
	l, err := d.Account.Limits(ctx, d.Stack)
	if err != nil {
		r.add(Failed, "quotas", "the account's limits cannot be read: %v", err)
		return
	}
	r.add(OK, "account", "%s", l.Account)
	stackStatus(r, d, l)
	signingSecrets(r, d, l)
	switchedOff(r, d, l)
	otherTable(ctx, r, d, l)
	concurrency(r, d, l)
	for _, t := range d.Demand.Tables {
		r.check(t.WarmWrites <= l.TableWrites && t.MaxWrite <= l.TableWrites, "DynamoDB writes",
			"%s: warm %s, at most %s; the account allows %s write units per second for a table",
			t.ID, grouped(max(t.WarmWrites, leastWarm)), unlimited(t.MaxWrite), grouped(l.TableWrites))
		if t.WarmReads > l.TableReads {
			r.add(Failed, "DynamoDB reads", "%s: warm %s; the account allows %s read units per second for a table", t.ID, grouped(t.WarmReads), grouped(l.TableReads))
		}
		if t.MaxWrite < 0 && l.Status == "" {
			r.add(Failed, "DynamoDB writes", "%s: a new table has no limit to remove; set MaxWriteRequestUnits=0", t.ID)
		}
		cooling(r, d, l, t)
	}
	throttles(r, d, l)
}

// stackStatus checks that CloudFormation updates the stack. It refuses one that it is working
// on, and one whose creation, deletion or roll-back failed.
func stackStatus(r *report, d Deployment, l Limits) {
	const check = "stack"
	switch {
	case strings.HasSuffix(l.Status, "_IN_PROGRESS"):
		r.add(Failed, check, "%s is %s: wait for its end", d.Stack, l.Status)
	case l.Status == "ROLLBACK_COMPLETE" || l.Status == "ROLLBACK_FAILED" || l.Status == "DELETE_FAILED":
		r.add(Failed, check, "%s is %s and can only be deleted: aws cloudformation delete-stack --stack-name %s", d.Stack, l.Status, d.Stack)
	case l.Status == "UPDATE_ROLLBACK_FAILED":
		r.add(Failed, check, "%s is %s: aws cloudformation continue-update-rollback --stack-name %s", d.Stack, l.Status, d.Stack)
	}
}

// signingSecrets finds a payment provider whose signing secrets the deployment takes away:
// make deploy sends the default of a parameter that was given once by PARAMETERS.
func signingSecrets(r *report, d Deployment, l Limits) {
	for _, name := range []string{"StripeKeysArn", "StandardWebhooksKeysArn"} {
		if l.Parameters[name] != "" && value(d.Demand, name) == "" {
			r.add(Warning, "payments", "the stack has %s=%s and this deployment has none: the provider's webhooks will be answered 404; write it into the file's section", name, l.Parameters[name])
		}
	}
}

// switchedOff finds what the deployment takes away from the stack, and should not by mistake.
func switchedOff(r *report, d Deployment, l Limits) {
	if front := l.Parameters["CreateFront"]; (front == "true" || front == "own") && value(d.Demand, "CreateFront") == "false" && kept(d.Demand, "OriginSecret") {
		r.add(Failed, "front", "CreateFront=false, but the stack keeps its OriginSecret: every request would be answered 403; "+
			"add OriginSecret= to the same deployment, or set CreateFront=own if a front of yours sends the secret")
	}
	if was := l.Parameters["PermissionsBoundaryArn"]; was != "" && value(d.Demand, "PermissionsBoundaryArn") == "" {
		r.add(Warning, "roles", "the stack's roles have the boundary %s, which this deployment takes away: set PermissionsBoundaryArn", was)
	}
}

// kept reports whether the stack keeps the parameter's value, which is unknown here.
func kept(d demand.Demand, name string) bool {
	return slices.ContainsFunc(d.Parameters, func(p demand.Parameter) bool { return p.Name == name && p.Kept })
}

// throttles compares the API's throttles with those of the account, which apply as well.
// Not tried: that API Gateway refuses a route's rate above the account's, and accepts a larger
// sum or burst.
func throttles(r *report, d Deployment, l Limits) {
	const check = "API throttle"
	r.check(d.Demand.Rate <= l.Rate, check, "%s requests per second on a route; the account's APIs share %s",
		unlimited(int(d.Demand.Rate)), grouped(int(l.Rate)))
	if d.Demand.Rate <= l.Rate && d.Demand.TotalRate > l.Rate {
		r.add(Warning, check, "all routes together admit %s requests per second; the account refuses what exceeds %s, purchases as well",
			grouped(int(d.Demand.TotalRate)), grouped(int(l.Rate)))
	}
	if d.Demand.Burst > l.Burst {
		r.add(Warning, "API burst", "%s requests; the account's APIs share %s, which AWS alone determines, by the account's rate: more has no effect",
			grouped(d.Demand.Burst), grouped(l.Burst))
	}
}

// cooling checks that no table is to have less warm throughput than it has. DynamoDB raises
// it with the table's usage and refuses a lower value, which fails the deployment.
// CloudFormation updates a table only if its properties change, so a roll-back that leaves
// them alone is not stopped.
func cooling(r *report, d Deployment, l Limits, t demand.Table) {
	has := l.Tables[t.ID]
	if t.WarmWrites == 0 || t.WarmReads >= has.Reads && t.WarmWrites >= has.Writes {
		return
	}
	v := Failed
	if !changes(d, l, t) {
		v = Warning
	}
	r.add(v, "DynamoDB warmth", "%s: warm for %s reads and %s writes a second, but it has %s and %s, and DynamoDB refuses less; set WarmReadUnitsPerSecond=%d WarmWriteUnitsPerSecond=%d, which costs nothing",
		t.ID, grouped(t.WarmReads), grouped(t.WarmWrites), grouped(has.Reads), grouped(has.Writes), max(t.WarmReads, has.Reads), max(t.WarmWrites, has.Writes))
}

// changes reports whether the deployment's parameters change a table.
func changes(d Deployment, l Limits, t demand.Table) bool {
	if d.DemandOf == nil {
		return true
	}
	deployed, err := d.DemandOf(l.Parameters)
	return err != nil || !slices.ContainsFunc(deployed.Tables, func(other demand.Table) bool {
		return other.ID == t.ID && other.Settings == t.Settings
	})
}

// warm compares a table's capacities with each other.
func warm(r *report, d Deployment) {
	for _, t := range d.Demand.Tables {
		if t.MaxWrite > 0 && t.WarmWrites > t.MaxWrite {
			r.add(Failed, "DynamoDB writes", "%s: warm throughput of %d is above its own limit of %d", t.ID, t.WarmWrites, t.MaxWrite)
		}
		if t.WarmWrites > 0 && t.WarmWrites < leastWarm {
			r.add(Failed, "DynamoDB writes", "%s: warm throughput of %d is below the %d of a new table", t.ID, t.WarmWrites, leastWarm)
		}
	}
}

// concurrencyByFunction checks each function: Lambda refuses to provision or to poll beyond
// its reserved concurrency.
func concurrencyByFunction(r *report, d Deployment) {
	for _, f := range d.Demand.Functions {
		if f.Reserved == 0 {
			continue
		}
		if f.Provisioned > f.Reserved {
			r.add(Failed, "Lambda concurrency", "%s: %d environments provisioned, but %d reserved", f.ID, f.Provisioned, f.Reserved)
		}
		for _, s := range f.Sources {
			if s.MaxConcurrency > f.Reserved {
				r.add(Failed, "Lambda concurrency", "%s: its poller may run %d environments, but %d are reserved", f.ID, s.MaxConcurrency, f.Reserved)
			}
		}
	}
}

// concurrency compares the functions' total with what the account has left. Provisioned
// concurrency without a reservation also comes from the unreserved part.
func concurrency(r *report, d Deployment, l Limits) {
	reserved, provisioned := 0, 0
	for _, f := range d.Demand.Functions {
		reserved += f.Reserved
		if f.Reserved == 0 {
			provisioned += f.Provisioned
		}
	}
	needed, free := reserved+provisioned, l.Unreserved+l.Own-keptFree
	r.check(needed == 0 || needed <= free, "Lambda concurrency",
		"%d environments reserved and %d more provisioned; the account allows %d (concurrent executions), of which %d can be reserved (%d stay unreserved)",
		reserved, provisioned, l.Concurrency, max(free, 0), keptFree)
	// New accounts have a quota of no more than keptFree, and there Lambda refuses every
	// reservation.
	if l.Concurrency <= keptFree {
		r.add(Warning, "Lambda concurrency", "the account allows %d concurrent executions and so %d requests per second: enough to try it, not for a sale",
			l.Concurrency, perConcurrency*l.Concurrency)
	}
}

func unlimited(n int) string {
	if n <= 0 {
		return "the quota"
	}
	return grouped(n)
}
