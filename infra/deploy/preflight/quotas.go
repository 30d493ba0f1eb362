package preflight

import "context"

const (
	// keptFree is the part of an account's concurrency that Lambda does not allow to be
	// reserved.
	keptFree = 100
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
	concurrency(r, d, l)
	for _, t := range d.Demand.Tables {
		r.check(t.WarmWrites <= l.TableWrites && t.MaxWrite <= l.TableWrites, "DynamoDB writes",
			"%s: warm %s, at most %s; the account allows %s write units per second for a table",
			t.ID, grouped(max(t.WarmWrites, leastWarm)), unlimited(t.MaxWrite), grouped(l.TableWrites))
	}
	r.check(d.Demand.Rate <= l.Rate && d.Demand.Burst <= l.Burst, "API throttle",
		"%s requests per second and a burst of %s; the account's APIs share %s and %s",
		unlimited(int(d.Demand.Rate)), unlimited(d.Demand.Burst), grouped(int(l.Rate)), grouped(l.Burst))
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
	free := l.Unreserved + l.Own - keptFree
	// New accounts have a quota of no more than keptFree, and there Lambda refuses every
	// reservation.
	r.check(reserved+provisioned <= free, "Lambda concurrency",
		"%d environments reserved and %d more provisioned; the account allows %d (concurrent executions), of which %d can be reserved (%d stay unreserved)",
		reserved, provisioned, l.Concurrency, max(free, 0), keptFree)
}

func unlimited(n int) string {
	if n <= 0 {
		return "the quota"
	}
	return grouped(n)
}
