package load

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

// plan makes the whole schedule in order of arrival; the same seed makes the same schedule. Buyers come in
// Poisson processes: first at the peak's rate, then at the base rate, and in the last third those who
// are late by plan, not because they had to wait.
func (o *options) plan() (visits []visit, err error) {
	peakEnd := time.Duration(0)
	if o.peak > o.rate {
		peakEnd = min(peakFor, o.duration)
	}
	total := o.peak*peakEnd.Seconds() + o.rate*(o.duration-peakEnd).Seconds()
	if total > mostBuyers {
		return nil, fmt.Errorf("the schedule has about %.0f buyers, more than %d", total, mostBuyers)
	}
	r := rand.New(rand.NewPCG(o.seed, 0))
	// The times between the arrivals of a Poisson process are distributed exponentially.
	come := func(from, to time.Duration, rate float64, k kind) {
		for at := from.Seconds() + r.ExpFloat64()/rate; at < to.Seconds(); at += r.ExpFloat64() / rate {
			v := visit{rush.Buyer{At: time.Duration(at * float64(time.Second)), Clicks: 1}, k}
			if k == honest && r.Float64() < greedyShare {
				v.kind, v.Clicks = greedy, 2+r.IntN(mostClicks-1)
			}
			if r.Float64() < keyedShare {
				v.Key = fmt.Sprintf("key-%016x", r.Uint64())
			}
			if o.units.most > 1 { // the buyers of a seed stay who they were where each orders one
				v.Units = o.units.least + r.Int64N(o.units.most-o.units.least+1)
			}
			visits = append(visits, v)
		}
	}
	third := o.duration / 3
	come(0, peakEnd, o.peak*(1-lateShare), honest)
	come(peakEnd, o.duration, o.rate*(1-lateShare), honest)
	come(o.duration-third, o.duration, lateShare*total/third.Seconds(), late)
	slices.SortStableFunc(visits, func(a, b visit) int { return int(a.At - b.At) })
	for i := range visits {
		visits[i].User = userName(i)
	}
	if len(visits) == 0 {
		return nil, fmt.Errorf("no buyer arrives at %g/s in %v", o.rate, o.duration)
	}
	return visits, nil
}

// stockFor returns a new sale's stock, by default half of what the buyers want who are not
// late, so that the sale sells out before the late ones come.
func (o *options) stockFor(visits []visit) int {
	if o.stock > 0 {
		return o.stock
	}
	n := 0
	for _, v := range visits {
		if v.kind != late {
			n += int(max(1, v.Units))
		}
	}
	return max(1, n/2)
}
