package model

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

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
