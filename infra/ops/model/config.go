package model

import (
	"fmt"
	"time"

	"flashsale/shared/sale"
)

// Config is one sale and the AWS services under it. Zero fields get defaults.
type Config struct {
	Seed   uint64
	Stock  int64 // units
	Shards int   // stock shards, 1…sale.MaxShards

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
	Write       time.Duration // median of UpdateItem and PutItem
	Read        time.Duration // median of GetItem and BatchGetItem
	Send        time.Duration // median of SendMessage
	Spread      float64       // p99 over median of all of them, above 1

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
	ColdStart   time.Duration // median, as a client sees it
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
	set(&c.Write, 6*time.Millisecond)
	set(&c.Read, 4*time.Millisecond)
	set(&c.Send, 8*time.Millisecond)
	set(&c.Spread, 3)
	set(&c.TableWrites, 4000)
	set(&c.TableReads, 12_000)
	set(&c.PartitionWrites, 1000)
	set(&c.PartitionReads, 3000)
	set(&c.Burst, 100*time.Millisecond)
	set(&c.MemoryMB, 512)
	set(&c.Concurrency, 1000)
	set(&c.ColdStart, 250*time.Millisecond)
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
	case c.Spread <= 1 || c.Window < 0 || c.Environments > c.Concurrency:
		return fmt.Errorf("check model: spread %g, window %v, %d of %d environments", c.Spread, c.Window, c.Environments, c.Concurrency)
	}
	return nil
}
