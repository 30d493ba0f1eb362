package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"flashsale/infra/kit/rush"
)

// kind is how a buyer behaves.
type kind int

const (
	honest kind = iota // clicks once
	greedy             // clicks many times at once
	late               // clicks once, in the last third, usually after the sale has sold out
)

func (k kind) String() string { return [...]string{"honest", "greedy", "late"}[k] }

// visit is one buyer's intended arrival.
type visit struct {
	rush.Buyer
	kind kind
}

// stretch is a period of constant rate.
type stretch struct {
	from, to time.Duration
	rate     float64 // arrivals a second
}

// arrivals draws at most limit arrivals of a Poisson process with piecewise constant rate:
// the times between arrivals are exponentially distributed and memoryless, so each stretch
// can start afresh.
func arrivals(r *rand.Rand, stretches []stretch, limit int) []time.Duration {
	var all []time.Duration
	for _, s := range stretches {
		if s.rate <= 0 {
			continue
		}
		at := s.from.Seconds()
		for {
			at += r.ExpFloat64() / s.rate
			if at >= s.to.Seconds() || len(all) >= limit {
				break
			}
			all = append(all, time.Duration(at*float64(time.Second)))
		}
	}
	return all
}

// shape returns the rate over time: the peak, then the base rate.
func (o *options) shape() []stretch {
	if o.peak <= o.rate {
		return []stretch{{0, o.duration, o.rate}}
	}
	end := min(peakFor, o.duration)
	return []stretch{{0, end, o.peak}, {end, o.duration, o.rate}}
}

// expected returns the mean number of arrivals.
func expected(stretches []stretch) float64 {
	n := 0.0
	for _, s := range stretches {
		n += s.rate * (s.to - s.from).Seconds()
	}
	return n
}

// plan makes the whole schedule in order of arrival; the same seed makes the same schedule.
// Late buyers are a separate Poisson process added to that of the others; the sum is again
// a Poisson process. They are late by plan, not because they had to wait.
func (o *options) plan() ([]visit, error) {
	whole := o.shape()
	total := expected(whole)
	if o.buyers > 0 {
		total = float64(o.buyers)
	}
	if total > 0.95*mostBuyers {
		return nil, fmt.Errorf("the schedule has about %.0f buyers, more than %d", total, mostBuyers)
	}
	early := slices.Clone(whole)
	for i := range early {
		early[i].rate *= 1 - lateShare
	}
	third := o.duration / 3
	lastThird := []stretch{{o.duration - third, o.duration, lateShare * total / third.Seconds()}}

	r := rand.New(rand.NewPCG(o.seed, 0))
	var visits []visit
	for range o.buyers {
		visits = append(visits, visit{Buyer: rush.Buyer{Clicks: 1 + r.IntN(o.clicks)}})
	}
	if o.buyers > 0 {
		early, lastThird = nil, nil
	}
	for _, at := range arrivals(r, early, mostBuyers) {
		v := visit{Buyer: rush.Buyer{At: at, Clicks: 1}}
		if r.Float64() < greedyShare {
			v.kind, v.Clicks = greedy, 2+r.IntN(o.clicks-1)
		}
		visits = append(visits, v)
	}
	for _, at := range arrivals(r, lastThird, mostBuyers-len(visits)) {
		visits = append(visits, visit{rush.Buyer{At: at, Clicks: 1}, late})
	}
	for i := range visits {
		if r.Float64() < keyedShare {
			visits[i].Key = fmt.Sprintf("key-%016x", r.Uint64())
		}
	}
	slices.SortStableFunc(visits, func(a, b visit) int { return int(a.At - b.At) })
	for i := range visits {
		visits[i].User = userName(i)
	}
	if len(visits) == 0 {
		return nil, fmt.Errorf("no buyer arrives at %g/s in %v", o.rate, o.duration)
	}
	return visits, nil
}

// stockFor returns a new sale's stock, by default a unit for half of the buyers who are not
// late, so that the sale sells out before the late ones come.
func (o *options) stockFor(visits []visit) int {
	if o.stock > 0 {
		return o.stock
	}
	n := 0
	for _, v := range visits {
		if v.kind != late {
			n++
		}
	}
	return max(1, n/2)
}
