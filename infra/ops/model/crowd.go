package model

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"flashsale/shared/sale"
)

const (
	// sampleAfter is how long after the last unit was sold all users are still simulated,
	// before a sample may represent the rest.
	sampleAfter = 3 * time.Second
	// gatewayLatency is added to every answer.
	gatewayLatency = 10 * time.Millisecond
)

// crowd is all users, who arrive independently of earlier answers.
type crowd struct {
	config Config
	table  *table
	fleet  *fleet
	tally  *tally
	random *randomSource
	opened time.Time
	buyers sync.WaitGroup
	// each is how many users one represents since sampledAt, at the end.
	each      int
	sampledAt time.Time
}

// arrive starts all users and returns when the last one has an answer.
func (c *crowd) arrive() {
	arrived, report := 0.0, time.Now()
	c.each = 1
	for i := 0; i < c.config.Users; {
		if c.isOver() {
			break
		}
		if c.config.Sample > 0 && c.each == 1 && c.soldOutFor() > sampleAfter {
			c.each, c.sampledAt = (c.config.Users-i)/c.config.Sample+1, time.Now()
		}
		weight := min(c.each, c.config.Users-i)
		arrived += float64(c.random.exponential(1)) / float64(time.Second) * float64(weight)
		time.Sleep(time.Until(c.opened.Add(c.arrivalTime(arrived))))
		number := i
		c.buyers.Go(func() { c.buy(number, float64(weight)) })
		i += weight
		if c.config.Progress != nil && time.Since(report) >= BinWidth {
			report = time.Now()
			c.config.Progress(Progress{Elapsed: time.Since(c.opened), Sold: c.table.sold.Load(), Came: i})
		}
	}
	c.buyers.Wait()
}

// arrivalTime returns when that many users have arrived.
func (c *crowd) arrivalTime(arrived float64) time.Duration {
	seconds := arrived / c.config.Peak
	if !c.config.Steady {
		n := float64(c.config.Users)
		seconds = -n / c.config.Peak * math.Log(max(1-arrived/n, 0.5/n))
	}
	return time.Duration(seconds * float64(time.Second))
}

// isOver reports whether the rest need not be simulated.
func (c *crowd) isOver() bool {
	return c.config.UntilSold && c.table.sold.Load() >= c.config.Stock
}

func (c *crowd) soldOutFor() time.Duration {
	if c.table.sold.Load() < c.config.Stock {
		return 0
	}
	c.tally.mu.Lock()
	defer c.tally.mu.Unlock()
	return time.Since(c.opened) - c.tally.lastSold
}

// buy is one user, who repeats the request after each Retry-After until there is a
// final answer.
func (c *crowd) buy(number int, weight float64) {
	// The name contains the seed because it determines the shards.
	user, began := fmt.Sprintf("user-%d-%d", c.config.Seed, number), time.Now()
	// Each buyer has its own, so that the order of drawing does not matter.
	chance := newRandomSource(c.config.Seed, 1_000_000_000+uint64(number))
	for try := 0; ; try++ {
		a := c.fleet.serve(user, weight)
		wait := time.Second
		switch {
		case a.throttled:
		case a.response.StatusCode == http.StatusAccepted:
			c.tally.accepted(time.Since(began) + gatewayLatency)
			return
		default:
			var problem struct {
				Code sale.Code `json:"code"`
			}
			_ = json.Unmarshal([]byte(a.response.Body), &problem) // no code: unexpected below
			switch problem.Code {
			case sale.SoldOut:
				left := c.table.sold.Load() < c.config.Stock
				c.tally.refused(time.Since(began)+gatewayLatency, weight, a, left)
				return
			case sale.Busy:
				// Like the answer's Retry-After, whose jitter does not come from the
				// seed.
				wait = chance.between(time.Second, 3*time.Second)
				c.tally.count(func(n *Counts) { n.GiveUps += weight })
			default:
				c.tally.count(func(n *Counts) { n.Unexpected += weight })
				return
			}
		}
		if try >= c.config.Repeats {
			c.tally.count(func(n *Counts) { n.Unanswered += weight })
			return
		}
		time.Sleep(chance.between(wait, 2*wait))
		if c.isOver() {
			return
		}
	}
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263

// randomSource is a source of random numbers from one seed, safe for concurrent use.
type randomSource struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newRandomSource(seed, stream uint64) *randomSource {
	return &randomSource{r: rand.New(rand.NewPCG(seed, stream))}
}

func (d *randomSource) float() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.Float64()
}

func (d *randomSource) intn(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

// lognormal has the given median and p99 = spread × median: the shape that
// measured call latencies have, with a tail and no negative values.
func (d *randomSource) lognormal(median time.Duration, spread float64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(float64(median) * math.Exp(math.Log(spread)/z99*d.r.NormFloat64()))
}

func (d *randomSource) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.float()*float64(to-from))
}

// exponential is the gap to the next of rate events a second.
func (d *randomSource) exponential(rate float64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.r.ExpFloat64() / rate * float64(time.Second))
}
