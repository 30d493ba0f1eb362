package preflight

import (
	"context"
	"strings"

	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target"
)

// keptFree is the part of an account's concurrency that Lambda does not allow to be
// reserved.
const keptFree = 100

// What template.yaml fixes: the environments reserved for OperateFunction, ReconcileFunction, ReleaseFunction and
// DrawFunction, and the requests a second on a route of the page and of webhooks.
const fixedReserves, fixedRates = 10 + 1 + 1 + 1, 1200 + 200

// Limits are what an account allows in the deployment's region.
type Limits struct {
	Account string
	// Concurrency is Lambda's quota, and Unreserved the part of it that no function has
	// reserved.
	Concurrency int
	Unreserved  int
	// TableWrites is the maximum number of write units per second of one table.
	TableWrites int
	// Rate is API Gateway's limit for all APIs of the account together.
	Rate float64
	// Deployed holds the stack's parameters, nil before the first deployment.
	Deployed map[string]string
	// WarmWrites is the warm throughput of the stack's own table, in write units per second.
	WarmWrites int
}

func (r *report) quotas(ctx context.Context) {
	l, err := r.Lookup.Limits(ctx, r.Stack)
	if err != nil {
		r.add(Unread, "quotas", "the account's limits cannot be read: %v", target.Explain(err))
		return
	}
	r.add(OK, "account", "%s", l.Account)
	r.takenAway(l)
	r.forgotten(l)
	r.otherTable(ctx, l)
	r.concurrency(l)
	if r.text("ExistingTable") == "" {
		r.capacity(l)
	}
	r.throttles(l)
}

// takenAway finds what the deployment takes away from the stack, and should not by mistake: it
// sends the default of a parameter that was given once by --parameters.
func (r *report) takenAway(l Limits) {
	const unanswered = "the provider's webhooks will be answered 404; write it into the file's section"
	for _, lost := range []struct{ parameter, check, what string }{
		{"StripeKeysArn", "payments", unanswered},
		{"StandardWebhooksKeysArn", "payments", unanswered},
		{"WeChatPayKeysArn", "payments", unanswered},
		{"AlipayKeysArn", "payments", unanswered},
		{"AdyenKeysArn", "payments", unanswered},
		{"RefundKeysArn", "refunds", "open sendings stay open, and nobody asks what became of the refunds that are unknown"},
		{"PermissionsBoundaryArn", "roles", "the stack's roles lose their boundary"},
	} {
		if was := l.Deployed[lost.parameter]; was != "" && r.text(lost.parameter) == "" {
			r.add(Warning, lost.check, "the stack has %s=%s and this deployment has none: %s", lost.parameter, was, lost.what)
		}
	}
}

// throttles compares the API's throttles with those of the account, which apply as well.
// Not tried: that API Gateway refuses a route's rate above the account's, and accepts a larger sum.
func (r *report) throttles(l Limits) {
	const check = "API throttle"
	purchases, queries := r.number("PurchaseRate"), r.number("QueryRate")
	rate, total := max(purchases, queries), purchases+queries+fixedRates
	r.check(float64(rate) <= l.Rate, check, "%s requests per second on a route; the account's APIs share %s",
		cli.Thousands(rate), cli.Thousands(l.Rate))
	if float64(rate) <= l.Rate && float64(total) > l.Rate {
		r.add(Warning, check, "all routes together admit %s requests per second; the account refuses what exceeds %s, purchases as well",
			cli.Thousands(total), cli.Thousands(int(l.Rate)))
	}
}

// capacity compares the table's capacities with the account's quotas and with what the table has.
func (r *report) capacity(l Limits) {
	writes, most := r.number("WarmWriteUnitsPerSecond"), r.number("MaxWriteRequestUnits")
	r.check(max(writes, most) <= l.TableWrites, "DynamoDB capacity", "warm for %s writes a second, at most %s; the account allows a table %s",
		cli.Thousands(writes), cli.Thousands(most), cli.Thousands(l.TableWrites))
	if writes > 0 && writes < l.WarmWrites {
		r.cooling(l, writes)
	}
}

// cooling says that the table is to have less warm throughput than it has. DynamoDB raises
// it with the table's usage and refuses a lower value, which fails the deployment.
// CloudFormation updates a table only if its properties change, so a roll-back that leaves
// them alone is not stopped.
func (r *report) cooling(l Limits, writes int) {
	v := Warning
	for _, name := range []string{"WarmWriteUnitsPerSecond", "MaxWriteRequestUnits", "PublishEvents"} {
		if l.Deployed[name] != r.text(name) {
			v = Failed
		}
	}
	r.add(v, "DynamoDB warmth", "warm for %s writes a second, but the table has %s, and DynamoDB refuses less; set WarmWriteUnitsPerSecond=%d, which costs nothing",
		cli.Thousands(writes), cli.Thousands(l.WarmWrites), l.WarmWrites)
}

// reserved is the sum of the environments that the functions reserve; with keys there is a RefundFunction.
func reserved(purchase, finalize int, refundKeys string) int {
	switch {
	case purchase == 0:
		return 0
	case refundKeys != "":
		finalize++
	}
	return purchase + finalize + fixedReserves
}

// concurrency compares the functions' total with what the account has left, and with what this
// stack has reserved before. Provisioned concurrency without a reservation also comes from the
// unreserved part.
func (r *report) concurrency(l Limits) {
	purchase, provisioned := r.number("PurchaseReservedConcurrency"), 0
	if purchase == 0 {
		provisioned = r.number("PurchaseProvisionedConcurrency")
	}
	wanted := reserved(purchase, r.number("FinalizeMaximumConcurrency"), r.text("RefundKeysArn"))
	own := reserved(number(l.Deployed["PurchaseReservedConcurrency"]), number(l.Deployed["FinalizeMaximumConcurrency"]), l.Deployed["RefundKeysArn"])
	for one := range strings.SplitSeq(l.Deployed["ReservedConcurrency"], ",") { // of an earlier release: Purchase:400,Query:0
		_, n, _ := strings.Cut(one, ":")
		own += number(n)
	}
	free := l.Unreserved + own - keptFree
	r.check(wanted+provisioned == 0 || wanted+provisioned <= free, "Lambda concurrency",
		"%d environments reserved and %d more provisioned; the account allows %d (concurrent executions), of which %d can be reserved (%d stay unreserved)",
		wanted, provisioned, l.Concurrency, max(free, 0), keptFree)
}
