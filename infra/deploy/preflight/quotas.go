package preflight

import "context"

const (
	// keptFree is the part of an account's concurrency that Lambda lets nobody
	// reserve.
	keptFree = 100
	// leastWarm is what a new on-demand table takes anyway, in write units a second.
	leastWarm = 4000
)

func quotas(ctx context.Context, r *report, d Deployment) {
	warm(r, d)
	concurrencyByFunction(r, d)
	if d.Account == nil {
		r.add(Warning, "quotas", "not compared with the account: nobody was asked")
		return
	}
	l, err := d.Account.Limits(ctx, d.Stack)
	if err != nil {
		r.add(Failed, "quotas", "the account does not answer: %v", err)
		return
	}
	r.add(OK, "account", "%s", l.Account)
	concurrency(r, d, l)
	for _, t := range d.Demand.Tables {
		r.check(t.WarmWrites <= l.TableWrites && t.MaxWrite <= l.TableWrites, "DynamoDB writes",
			"%s: warm %s, at most %s; the account allows a table %s write units a second",
			t.ID, grouped(max(t.WarmWrites, leastWarm)), unlimited(t.MaxWrite), grouped(l.TableWrites))
	}
	r.check(d.Demand.Rate <= l.Rate && d.Demand.Burst <= l.Burst, "API throttle",
		"%s requests a second and a burst of %s; the account's APIs share %s and %s",
		unlimited(int(d.Demand.Rate)), unlimited(d.Demand.Burst), grouped(int(l.Rate)), grouped(l.Burst))
}

// warm compares the table's capacities with each other.
func warm(r *report, d Deployment) {
	for _, t := range d.Demand.Tables {
		if t.MaxWrite > 0 && t.WarmWrites > t.MaxWrite {
			r.add(Failed, "DynamoDB writes", "%s: warm throughput of %d is above its own limit of %d", t.ID, t.WarmWrites, t.MaxWrite)
		}
		if t.WarmWrites > 0 && t.WarmWrites < leastWarm {
			r.add(Failed, "DynamoDB writes", "%s: warm throughput of %d is below the %d that a table has anyway", t.ID, t.WarmWrites, leastWarm)
		}
	}
}

// concurrencyByFunction compares what one function asks with itself: Lambda
// refuses to provision or to poll beyond what is reserved.
func concurrencyByFunction(r *report, d Deployment) {
	for _, f := range d.Demand.Functions {
		if f.Reserved == 0 {
			continue
		}
		if f.Provisioned > f.Reserved {
			r.add(Failed, "Lambda concurrency", "%s: %d provisioned of %d reserved", f.ID, f.Provisioned, f.Reserved)
		}
		for _, s := range f.Sources {
			if s.MaxConcurrency > f.Reserved {
				r.add(Failed, "Lambda concurrency", "%s: its poller may run %d, of %d reserved", f.ID, s.MaxConcurrency, f.Reserved)
			}
		}
	}
}

// concurrency compares all functions with what the account has left: provisioned
// concurrency without a reservation is taken from the unreserved part, too.
func concurrency(r *report, d Deployment, l Limits) {
	reserved, provisioned := 0, 0
	for _, f := range d.Demand.Functions {
		reserved += f.Reserved
		if f.Reserved == 0 {
			provisioned += f.Provisioned
		}
	}
	free := l.Unreserved + l.Own - keptFree
	// Lambda refuses every reservation in an account of no more than what is kept
	// free, as new ones have.
	r.check(reserved+provisioned <= free, "Lambda concurrency",
		"reserved %d and provisioned %d besides; the account allows %d, of which %d can still be taken (%d stay free)",
		reserved, provisioned, l.Concurrency, max(free, 0), keptFree)
}

func unlimited(n int) string {
	if n <= 0 {
		return "the quota"
	}
	return grouped(n)
}
