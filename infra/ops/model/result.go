package model

import "time"

// Result is the result of a run.
type Result struct {
	Counts
	Config Config // with its defaults
	Bins   []Bin

	// LastSold is when the last unit was sold, since the sale opened, and AtLastUnit
	// the counts until then, without purchases in progress.
	LastSold        time.Duration
	AtLastUnit      Counts
	UnitsAtLastUnit float64 // write units
	// Left is how many units were not sold.
	Left int64
	// FirstEmpty is when a purchase first found an empty shard; 0 if none did.
	FirstEmpty time.Duration
	// TailTransactions were tried between the first empty shard and the last unit;
	// TailSold of them sold a unit, TailConflicts conflicted.
	TailTransactions, TailSold, TailConflicts int
	// TailTries are the transactions that the buyers of those units needed.
	TailTries int

	WinnersP50, WinnersP99 time.Duration // to the final answer
	LosersP50, LosersP99   time.Duration
	WriteUnits             float64
	// ReadUnits is an upper bound if some users represent others: from then on it
	// assumes a read per environment and second.
	ReadUnits    float64
	Environments int // ever started
	// Sampled is how many users each simulated one represented after the end of the
	// sale; 1 if all were simulated.
	Sampled int
}

func result(c Config, n *tally, t *table, f *fleet, people *crowd) Result {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := Result{
		Counts: n.counts, Config: c, Bins: n.bins, LastSold: n.lastSold, AtLastUnit: n.atLastUnit, UnitsAtLastUnit: n.unitsAtLastUnit, Left: n.left, FirstEmpty: n.firstEmpty,
		TailTransactions: n.tail, TailSold: n.tailSold, TailConflicts: n.tailConflicts, TailTries: n.tailTries,
		WinnersP50: n.winners.quantile(0.5), WinnersP99: n.winners.quantile(0.99),
		LosersP50: n.losers.quantile(0.5), LosersP99: n.losers.quantile(0.99),
		Environments: f.made, Sampled: people.each,
	}
	r.WriteUnits, r.ReadUnits = t.db.Consumed()
	r.ReadUnits += n.counts.representedReads
	if r.Sampled > 1 {
		r.ReadUnits += float64(r.Environments) * time.Since(people.sampledAt).Seconds()
	}
	return r
}

// ConflictRate is the share of transactions that conflicted.
func (r *Result) ConflictRate() float64 {
	return float64(r.Conflicts) / max(1, float64(r.Transactions))
}

// OrdersPerSecond is the rate at which units were sold, from the opening to
// the last one.
func (r *Result) OrdersPerSecond() float64 {
	if r.LastSold <= 0 {
		return 0
	}
	return float64(r.Config.Stock-r.Left) / r.LastSold.Seconds()
}

// TailCost is how many transactions an accepted order took on average after the
// first shard was empty; 0 if there was no tail.
func (r *Result) TailCost() float64 {
	if r.TailSold == 0 {
		return 0
	}
	return float64(r.TailTransactions) / float64(r.TailSold)
}

// QuietAfter is how long after the last unit refusals still tried transactions: from
// then on at least share of them, per Bin, were answered from memory.
func (r *Result) QuietAfter(share float64) time.Duration {
	lastBusy := r.LastSold
	for i, b := range r.Bins {
		if b.Probing > (1-share)*b.Refused {
			lastBusy = max(lastBusy, time.Duration(i+1)*BinWidth)
		}
	}
	return lastBusy - r.LastSold
}
