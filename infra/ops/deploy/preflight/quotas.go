package preflight

import (
	"context"
	"strings"
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

// Limits are what an account allows in the deployment's region.
type Limits struct {
	Account string
	// Concurrency is Lambda's quota, and Unreserved the part of it that no function has
	// reserved.
	Concurrency int
	Unreserved  int
	// TableReads and TableWrites are the maximum number of units per second of one table.
	TableReads  int
	TableWrites int
	// Rate and Burst are API Gateway's limits for all APIs of the account together.
	Rate  float64
	Burst int
	// Deployed holds the stack's parameters, nil before the first deployment.
	Deployed map[string]string
	// WarmReads and WarmWrites are the warm throughput of the stack's own table, in units per
	// second.
	WarmReads, WarmWrites int
}

func (r *report) quotas(ctx context.Context) {
	if r.Limits == nil {
		r.add(Warning, "quotas", "not compared with the account (-offline)")
		return
	}
	l, err := r.Limits(ctx, r.Stack)
	if err != nil {
		r.add(Failed, "quotas", "the account's limits cannot be read: %v", err)
		return
	}
	r.add(OK, "account", "%s", l.Account)
	r.takenAway(l)
	r.otherTable(ctx, l)
	r.concurrency(l)
	if r.text("ExistingTable") == "" {
		r.capacity(l)
	}
	r.throttles(l)
}

// takenAway finds what the deployment takes away from the stack, and should not by mistake: make
// deploy sends the default of a parameter that was given once by PARAMETERS.
func (r *report) takenAway(l Limits) {
	for _, lost := range []struct{ parameter, check, what string }{
		{"StripeKeysArn", "payments", "the provider's webhooks will be answered 404; write it into the file's section"},
		{"StandardWebhooksKeysArn", "payments", "the provider's webhooks will be answered 404; write it into the file's section"},
		{"PermissionsBoundaryArn", "roles", "the stack's roles lose their boundary"},
	} {
		if was := l.Deployed[lost.parameter]; was != "" && r.text(lost.parameter) == "" {
			r.add(Warning, lost.check, "the stack has %s=%s and this deployment has none: %s", lost.parameter, was, lost.what)
		}
	}
}

// throttles compares the API's throttles with those of the account, which apply as well.
// Not tried: that API Gateway refuses a route's rate above the account's, and accepts a larger
// sum or burst.
func (r *report) throttles(l Limits) {
	const check = "API throttle"
	var rate, total, burst int
	for _, route := range []string{"Purchase", "Query", "Page", "Payment"} {
		perSecond, atOnce, _ := strings.Cut(r.text(route+"Throttle"), "/")
		rate = max(rate, number(perSecond))
		total += number(perSecond)
		burst = max(burst, number(atOnce))
	}
	r.check(float64(rate) <= l.Rate, check, "%s requests per second on a route; the account's APIs share %s", grouped(rate), grouped(int(l.Rate)))
	if float64(rate) <= l.Rate && float64(total) > l.Rate {
		r.add(Warning, check, "all routes together admit %s requests per second; the account refuses what exceeds %s, purchases as well",
			grouped(total), grouped(int(l.Rate)))
	}
	if burst > l.Burst {
		r.add(Warning, "API burst", "%s requests; the account's APIs share %s, which AWS alone determines, by the account's rate: more has no effect",
			grouped(burst), grouped(l.Burst))
	}
}

// capacity compares the table's capacities with the account's quotas, with each other, and with
// what the table has.
func (r *report) capacity(l Limits) {
	const check = "DynamoDB writes"
	reads, writes, most := r.number("WarmReadUnitsPerSecond"), r.number("WarmWriteUnitsPerSecond"), r.number("MaxWriteRequestUnits")
	limit := "the quota"
	if most > 0 {
		limit = grouped(most)
	}
	r.check(writes <= l.TableWrites && most <= l.TableWrites, check,
		"warm %s, at most %s; the account allows %s write units per second for a table", grouped(max(writes, leastWarm)), limit, grouped(l.TableWrites))
	if most < 0 && l.Deployed == nil {
		r.add(Failed, check, "a new table has no limit to remove; set MaxWriteRequestUnits=0")
	}
	if writes == 0 {
		return
	}
	if most > 0 && writes > most {
		r.add(Failed, check, "a warm throughput of %d is above the table's own limit of %d", writes, most)
	}
	if writes < leastWarm {
		r.add(Failed, check, "a warm throughput of %d is below the %d of a new table", writes, leastWarm)
	}
	if reads > l.TableReads {
		r.add(Failed, "DynamoDB reads", "warm %s; the account allows %s read units per second for a table", grouped(reads), grouped(l.TableReads))
	}
	r.cooling(l, reads, writes)
}

// cooling checks that the table is not to have less warm throughput than it has. DynamoDB raises
// it with the table's usage and refuses a lower value, which fails the deployment.
// CloudFormation updates a table only if its properties change, so a roll-back that leaves
// them alone is not stopped.
func (r *report) cooling(l Limits, reads, writes int) {
	if reads >= l.WarmReads && writes >= l.WarmWrites {
		return
	}
	v := Warning
	for _, name := range []string{"WarmReadUnitsPerSecond", "WarmWriteUnitsPerSecond", "MaxWriteRequestUnits", "PublishEvents"} {
		if l.Deployed[name] != r.text(name) {
			v = Failed
		}
	}
	r.add(v, "DynamoDB warmth", "warm for %s reads and %s writes a second, but the table has %s and %s, and DynamoDB refuses less; "+
		"set WarmReadUnitsPerSecond=%d WarmWriteUnitsPerSecond=%d, which costs nothing",
		grouped(reads), grouped(writes), grouped(l.WarmReads), grouped(l.WarmWrites), max(reads, l.WarmReads), max(writes, l.WarmWrites))
}

// reserves reads the environments that ReservedConcurrency reserves, by function, and their sum.
func reserves(list string) (by map[string]int, sum int) {
	by = map[string]int{}
	for one := range strings.SplitSeq(list, ",") {
		function, n, _ := strings.Cut(one, ":")
		by[function] = number(n)
		sum += number(n)
	}
	return by, sum
}

// concurrencyByFunction checks each function: Lambda refuses to provision or to poll beyond
// its reserved concurrency.
func (r *report) concurrencyByFunction() {
	reserved, _ := reserves(r.text("ReservedConcurrency"))
	for _, used := range []struct{ function, parameter, what string }{
		{"Purchase", "PurchaseProvisionedConcurrency", "provisioned"},
		{"Finalize", "FinalizeMaximumConcurrency", "for its poller"},
	} {
		has, wants := reserved[used.function], r.number(used.parameter)
		if has > 0 && wants > has {
			r.add(Failed, "Lambda concurrency", "%sFunction: %d environments %s, but %d reserved", used.function, wants, used.what, has)
		}
	}
}

// concurrency compares the functions' total with what the account has left, and with what this
// stack has reserved before. Provisioned concurrency without a reservation also comes from the
// unreserved part.
func (r *report) concurrency(l Limits) {
	const check = "Lambda concurrency"
	reserved, wanted := reserves(r.text("ReservedConcurrency"))
	provisioned := 0
	if reserved["Purchase"] == 0 {
		provisioned = r.number("PurchaseProvisionedConcurrency")
	}
	_, own := reserves(l.Deployed["ReservedConcurrency"])
	free := l.Unreserved + own - keptFree
	r.check(wanted+provisioned == 0 || wanted+provisioned <= free, check,
		"%d environments reserved and %d more provisioned; the account allows %d (concurrent executions), of which %d can be reserved (%d stay unreserved)",
		wanted, provisioned, l.Concurrency, max(free, 0), keptFree)
	// New accounts have a quota of no more than keptFree, and there Lambda refuses every
	// reservation.
	if l.Concurrency <= keptFree {
		r.add(Warning, check, "the account allows %d concurrent executions and so %d requests per second: enough to try it, not for a sale",
			l.Concurrency, perConcurrency*l.Concurrency)
	}
}
