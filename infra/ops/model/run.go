// Package model is a model of the AWS services under one sale: how often DynamoDB's
// transactions conflict and where it throttles, how long its calls take, how Lambda
// scales and what all of this costs.
//
// It runs the real purchase and finalize handlers under AWS's published limits
// and prices, and contains no key format and no rule of the ledger. It runs in
// the virtual time of testing/synctest: Run must be called inside a bubble, see
// Virtually.
//
// It leaves out lost answers and stuck transactions (other packages cover those) and
// the splitting of hot partitions, which takes DynamoDB minutes.
package model

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// opensAt is when every modelled sale opens. Order ids count from 2023, and a
// bubble's clock starts long before.
var opensAt = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

// Virtually runs f in virtual time, from any program: sleeping costs nothing, and time
// advances when all goroutines wait. It must be called at most once per process outside
// tests, and ends the process with the code f returns.
//
// Virtual time is part of the testing package, which other programs can only enter by
// testing.Main; it must not see this program's arguments.
func Virtually(arguments *[]string, f func(*testing.T) int, exit func(int)) {
	*arguments = (*arguments)[:1]
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "virtually", F: func(t *testing.T) { exit(f(t)) }}}, nil, nil)
}

// In is Run in its own bubble.
func In(t *testing.T, c Config) (r Result, err error) {
	synctest.Test(t, func(*testing.T) { r, err = Run(c) })
	return r, err
}

// Run simulates one sale from its opening until everybody has an answer and every order
// is confirmed. It must be called inside a testing/synctest bubble. It fails if the
// configuration is invalid, or the sale cannot be seeded.
func Run(c Config) (Result, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return Result{}, err
	}
	time.Sleep(time.Until(opensAt) - time.Minute)
	n := &tally{left: c.Stock}
	n.counts.refusedReads = map[string]int{}
	t := newTable(c, n)
	if err := seed(c, t); err != nil {
		return Result{}, err
	}
	time.Sleep(time.Until(opensAt))
	n.counts.opened = opensAt
	t.limits = newLimits(c, opensAt)
	t.applyLimits()
	q := newQueue(c, n)
	if !c.NoFinalize {
		q.run(t)
	}
	f := newFleet(c, t, q, n)
	people := &crowd{config: c, table: t, fleet: f, tally: n, random: newRandomSource(c.Seed, 2), opened: opensAt}
	people.arrive()
	q.drain(10 * time.Minute)
	return result(c, n, t, f, people), nil
}

// seed creates the sale before the limits apply, because it is not measured.
func seed(c Config, t *table) error {
	creation := sale.Creation{
		SaleID: saleID, Name: saleID, OpensAt: opensAt, ClosesAt: opensAt.Add(24 * time.Hour), Stock: c.Stock, Shards: c.Shards,
	}
	if c.Grouped {
		creation.LimitGroup = saleID
	}
	if err := creation.Check(); err != nil {
		return fmt.Errorf("seed model: %w", err)
	}
	busy := t.db.Busy
	t.db.Busy = 0
	defer func() { t.db.Busy = busy }()
	if _, err := ledger.New(t.db, tableName, ledger.Options{}).Create(context.Background(), creation); err != nil {
		return fmt.Errorf("seed model: %w", err)
	}
	return nil
}

// Config is one sale and the AWS services under it. Zero fields get defaults.
type Config struct {
	Seed uint64
	// Grouped: the sale is of a limit group, so a purchase writes a third item.
	Grouped bool
	Stock   int64 // units
	Shards  int   // stock shards, 1…sale.MaxShards

	// Arrivals are open-loop: they do not wait for each other's answers.
	Users int
	// Peak is the rate of first requests a second when the sale opens.
	Peak float64
	// Steady keeps the rate at Peak; otherwise it falls exponentially, so that
	// the last of Users comes after about Users/Peak × ln(Users) seconds.
	Steady bool
	// Repeats bounds how often a buyer repeats a request that got no final
	// answer; 0 means not at all.
	Repeats int
	// Sample is how many users after the sale's end are simulated one by one;
	// of more, every n-th stands for n. 0 simulates all.
	Sample int

	Window      time.Duration // how long a transaction locks its items
	Transaction time.Duration // median of TransactWriteItems

	TableWrites     float64 // write units a second of the table
	TableReads      float64 // read units a second
	PartitionWrites float64 // write units a second of one partition key
	PartitionReads  float64
	// Burst is how much unused capacity accumulates, as time at the full rate.
	Burst time.Duration
	// Partitions is the number of partitions of the table, with keys assigned by hash;
	// 0 gives every key its own, as if DynamoDB had split the hot ones.
	Partitions int

	MemoryMB     int // of the functions
	Environments int // ready when the sale opens (provisioned concurrency)
	Concurrency  int // maximum (reserved concurrency)
	// GatewayRate is how many purchases a second API Gateway admits, with a burst of
	// one second's worth. It refuses the others itself, unbilled. 0 means unlimited.
	GatewayRate float64
	// RequestRate is how many requests a second Lambda admits (ten per unit of
	// concurrency); 0 means unlimited.
	RequestRate float64
	// Finalizers is the maximum of concurrent batches of order messages. Lambda starts
	// with pollersAtFirst.
	Finalizers int
	// Batch is the maximum of order messages per invocation, and Gather how long the
	// event source waits for them: by default as in template.yaml.
	Batch      int
	Gather     time.Duration
	NoFinalize bool
	// UntilSold ends the run when the last unit is sold: no more requests after that.
	UntilSold bool

	// Progress, if set, is called about ten times per simulated second.
	Progress func(Progress)
}

// Progress is the progress of a run.
type Progress struct {
	Elapsed time.Duration // since the sale opened, simulated
	Sold    int64
	Came    int // users that have arrived
}

func (c Config) withDefaults() Config {
	set(&c.Window, 10*time.Millisecond)
	set(&c.Transaction, 20*time.Millisecond)
	set(&c.TableWrites, 4000)
	set(&c.TableReads, 12_000)
	set(&c.PartitionWrites, 1000)
	set(&c.PartitionReads, 3000)
	set(&c.Burst, 100*time.Millisecond)
	set(&c.MemoryMB, 512)
	set(&c.Concurrency, 1000)
	set(&c.Finalizers, 20)
	set(&c.Batch, 25)
	set(&c.Gather, time.Second)
	return c
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) check() error {
	switch {
	case c.Shards < 1 || c.Shards > sale.MaxShards || c.Stock < int64(c.Shards):
		return fmt.Errorf("check model: %d shards for %d units", c.Shards, c.Stock)
	case c.Users < 1 || c.Peak <= 0:
		return fmt.Errorf("check model: %d users at %g a second", c.Users, c.Peak)
	case c.Window < 0 || c.Environments > c.Concurrency:
		return fmt.Errorf("check model: window %v, %d of %d environments", c.Window, c.Environments, c.Concurrency)
	}
	return nil
}

// Result is the result of a run.
type Result struct {
	Counts
	Config Config // with its defaults
	Bins   []Bin

	// LastSold is when the last unit was sold, since the sale opened.
	LastSold time.Duration
	// Left is how many units were not sold.
	Left int64
	// TailTransactions were tried between the first empty shard and the last unit;
	// TailSold of them sold a unit.
	TailTransactions, TailSold int
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
		Counts: n.counts, Config: c, Bins: n.bins, LastSold: n.lastSold, Left: n.left,
		TailTransactions: n.tail, TailSold: n.tailSold, TailTries: n.tailTries,
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
