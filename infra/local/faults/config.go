// Package faults makes a well-behaved local engine behave as badly as DynamoDB and SQS
// may: transactions that conflict, throttling, server errors, answers that are lost
// after the commit, requests that are applied long after the caller gave up, messages
// that are not sent. No local engine does any of this, and promises P4, P5, P8 and P9
// are about exactly these faults.
//
// It works at the HTTP transport, which every request passes, so that the code under
// test is the real code with the real SDK. It contains the wire format of the two
// services' requests and refusals, and randomness, but nothing of sales, orders or
// tables.
//
// It never loses an acknowledged message, or reports success for a request that was not
// applied; neither do the real services. The local queue itself duplicates, delays and
// reorders deliveries, and the local event bus fails by itself; a Config only contains the
// settings for them.
package faults

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// Config is the frequency of each fault. Shares are between 0 (never) and 1 (always).
// The zero value has no faults.
type Config struct {
	// Shares of the DynamoDB calls that can have the fault; their sum is at most 1.
	Conflict float64 // writes and transactions: refused, an item is in another transaction
	Throttle float64 // refused for lack of capacity
	Error    float64 // answered with 500, not applied
	Lost     float64 // applied, then the connection breaks
	Late     float64 // writes: the connection breaks, the request is applied later

	LateBy  time.Duration // longest delay of a late request
	Latency time.Duration // longest delay of any call, uniformly distributed

	// Send is the share of calls that send messages which fail: half of them
	// answered with 500 and not sent, half of them sent and the answer lost.
	Send float64

	// Publish is the share of PutEvents calls that fail: answered with 500, accepted in part,
	// or accepted and the answer lost; see Trouble in package infra/local/eventbus.
	Publish float64

	// What the queue does to deliveries; see Disorder in package infra/local/sqs.
	Duplicate float64
	Delay     float64
	DelayBy   time.Duration // longest delay of a delayed message
	Reorder   float64

	Seed uint64 // equal seeds give the n-th call the same fault
}

const (
	// maxDuration bounds every duration: callers wait for seconds.
	maxDuration = time.Minute
	// defaultDelay is the default of LateBy and DelayBy if only the share is given.
	defaultDelay = time.Second
	// rounding is how much a sum of shares may exceed 1.
	rounding = 1e-9
)

// presets are named settings that a text may begin with.
var presets = map[string]string{
	"mild": "conflict=0.05,throttle=0.01,error=0.005,lost=0.01,late=0.005,lateby=500ms,latency=5ms," +
		"send=0.01,publish=0.01,duplicate=0.02,delay=0.02,delayby=1s,reorder=0.05",
	"harsh": "conflict=0.2,throttle=0.05,error=0.02,lost=0.05,late=0.02,lateby=2s,latency=10ms," +
		"send=0.05,publish=0.05,duplicate=0.1,delay=0.1,delayby=2s,reorder=0.2",
}

func (c *Config) shares() map[string]*float64 {
	return map[string]*float64{
		"conflict": &c.Conflict, "throttle": &c.Throttle, "error": &c.Error, "lost": &c.Lost, "late": &c.Late, "send": &c.Send,
		"publish": &c.Publish, "duplicate": &c.Duplicate, "delay": &c.Delay, "reorder": &c.Reorder,
	}
}

func (c *Config) durations() map[string]*time.Duration {
	return map[string]*time.Duration{"lateby": &c.LateBy, "latency": &c.Latency, "delayby": &c.DelayBy}
}

// settings are the names of the text form and their places.
func (c *Config) settings() *flag.FlagSet {
	f := flag.NewFlagSet("faults", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	for name, place := range c.shares() {
		f.Float64Var(place, name, *place, "")
	}
	for name, place := range c.durations() {
		f.DurationVar(place, name, *place, "")
	}
	f.Uint64Var(&c.Seed, "seed", c.Seed, "")
	return f
}

// Parse reads a configuration such as "conflict=0.2,seed=42". It may
// begin with a preset, "mild" or "harsh", whose settings the following ones replace:
// "harsh,send=0". The empty text is the zero Config. Unknown or repeated names, shares
// outside [0,1] and durations outside [0s,1m] are errors, and so are shares of DynamoDB
// calls whose sum exceeds 1.
func Parse(text string) (Config, error) {
	var c Config
	if text == "" {
		return c, nil
	}
	parts := strings.Split(text, ",")
	if preset, ok := presets[parts[0]]; ok {
		if err := c.read(strings.Split(preset, ",")); err != nil {
			return Config{}, err
		}
		parts = parts[1:]
	}
	if err := c.read(parts); err != nil {
		return Config{}, err
	}
	for name, share := range c.shares() {
		if !(*share >= 0 && *share <= 1) { // nor NaN
			return Config{}, fmt.Errorf("read faults: %s: a share is 0 to 1", name)
		}
	}
	for name, d := range c.durations() {
		if *d < 0 || *d > maxDuration {
			return Config{}, fmt.Errorf("read faults: %s: a duration is 0s to %v", name, maxDuration)
		}
	}
	if c.Late > 0 && c.LateBy == 0 {
		c.LateBy = defaultDelay
	}
	if c.Delay > 0 && c.DelayBy == 0 {
		c.DelayBy = defaultDelay
	}
	if sum := c.Conflict + c.Throttle + c.Error + c.Lost + c.Late; sum > 1+rounding {
		return Config{}, fmt.Errorf("read faults: conflict, throttle, error, lost and late are %g together, more than 1", sum)
	}
	return c, nil
}

func (c *Config) read(parts []string) error {
	settings, seen := c.settings(), map[string]bool{}
	for _, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		if !ok || seen[name] {
			return fmt.Errorf("read faults: %q is not name=value, nor a preset at the beginning, or it is set twice", part)
		}
		seen[name] = true
		if err := settings.Set(name, value); err != nil {
			return fmt.Errorf("read faults: %s: %w", name, err)
		}
	}
	return nil
}

// String is a text that Parse reads c from; "" for the zero Config.
func (c Config) String() string {
	var none Config
	var parts []string
	zero := none.settings()
	c.settings().VisitAll(func(f *flag.Flag) {
		if f.Value.String() != zero.Lookup(f.Name).Value.String() {
			parts = append(parts, f.Name+"="+f.Value.String())
		}
	})
	return strings.Join(parts, ",")
}

// The kinds of faults, as named by Counts.
const (
	kindConflict   = "conflict"
	kindThrottle   = "throttle"
	kindError      = "error"
	kindLost       = "lost"
	kindLate       = "late"
	kindSendFailed = "send-failed"
	kindSendLost   = "send-lost"
)

// plan is what is to happen to one call.
type plan struct {
	kind string        // "" for nothing
	wait time.Duration // before anything else
	late time.Duration // delay of a late call
	// some are the indexes of the transaction's actions that cause the cancellation.
	some []int
}

// plan decides what happens to the n-th call. The decision depends only on the seed,
// the number and the kind of call.
func (c Config) plan(n uint64, of request) plan {
	chance := rand.New(rand.NewPCG(c.Seed, n))
	p := plan{
		wait: randomUpTo(chance, c.Latency), late: randomUpTo(chance, c.LateBy), some: randomSubset(chance, of.actions),
	}
	p.kind = c.draw(chance.Float64(), of.class)
	return p
}

// draw returns the kind of fault at a point of [0,1). Every kind has its own interval,
// even if the call cannot have the fault, so that shares are exact.
func (c Config) draw(point float64, of class) string {
	falls := func(share float64, possible bool) bool {
		hit := possible && point >= 0 && point < share
		point -= share
		return hit
	}
	locks, data := of == write || of == transaction, of != untouched && of != sending
	switch {
	case of == sending && falls(c.Send/2, true):
		return kindSendFailed
	case of == sending && falls(c.Send/2, true):
		return kindSendLost
	case !data:
		return ""
	case falls(c.Conflict, locks):
		return kindConflict
	case falls(c.Throttle, true):
		return kindThrottle
	case falls(c.Error, true):
		return kindError
	case falls(c.Lost, true):
		return kindLost
	case falls(c.Late, of != read):
		return kindLate
	}
	return ""
}

func randomUpTo(chance *rand.Rand, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return time.Duration(chance.Int64N(int64(most)))
}

// randomSubset is a random, not empty set of the indexes below n.
func randomSubset(chance *rand.Rand, n int) (some []int) {
	if n == 0 {
		return nil
	}
	sure := chance.IntN(n)
	for i := range n {
		if i == sure || chance.IntN(2) == 0 {
			some = append(some, i)
		}
	}
	return some
}
