package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func scheduled(t *testing.T, o options) []visit {
	t.Helper()
	visits, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	return visits
}

func someOptions() options {
	return options{rate: 200, duration: 30 * time.Second, crowd: steady, seed: 7}
}

func TestTheScheduleHasTheRequestedRate(t *testing.T) {
	o := someOptions()
	// The tolerance is five standard deviations of a Poisson count.
	if got, want := float64(len(scheduled(t, o))), o.rate*o.duration.Seconds(); math.Abs(got-want) > 5*math.Sqrt(want) {
		t.Errorf("%v buyers, want about %v", got, want)
	}
}

func TestTheScheduleBeginsWithThePeak(t *testing.T) {
	o := someOptions()
	o.peak = 2000
	n := 0
	for _, v := range scheduled(t, o) {
		if v.at < peakFor {
			n++
		}
	}
	if want := 4000.0 * (1 - lateShare); math.Abs(float64(n)-want) > 5*math.Sqrt(want) {
		t.Errorf("%d buyers in the peak, want about %v", n, want)
	}
}

func TestTheSameSeedMakesTheSameSchedule(t *testing.T) {
	o := someOptions()
	first := scheduled(t, o)
	if diff := cmp.Diff(first, scheduled(t, o), cmp.AllowUnexported(visit{})); diff != "" {
		t.Error(diff)
	}
	o.seed++
	if slices.Equal(first, scheduled(t, o)) {
		t.Error("another seed makes the same schedule")
	}
}

func TestBuyersComeInOrderAndLateOnesInTheLastThird(t *testing.T) {
	o := someOptions()
	visits := scheduled(t, o)
	counts := map[kind]int{}
	keyed := 0
	for i, v := range visits {
		counts[v.kind]++
		if i > 0 && v.at < visits[i-1].at {
			t.Fatalf("buyer %d arrives before the previous one", i)
		}
		if v.at < 0 || v.at >= o.duration {
			t.Errorf("buyer %d arrives at %v", i, v.at)
		}
		if v.kind == late && v.at < o.duration*2/3 {
			t.Errorf("a late buyer arrives at %v", v.at)
		}
		if many := v.clicks > 1; many != (v.kind == greedy) || v.clicks < 1 || v.clicks > o.clicks {
			t.Errorf("a %v buyer clicks %d times", v.kind, v.clicks)
		}
		if v.key != "" {
			keyed++
		}
	}
	share := func(n int) float64 { return float64(n) / float64(len(visits)) }
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"late", share(counts[late]), 0.2}, {"greedy", share(counts[greedy]), 0.8 * greedyShare}, {"keyed", share(keyed), keyedShare},
	} {
		if math.Abs(c.got-c.want) > 0.04 {
			t.Errorf("share of %s: %.3f, want about %.2f", c.name, c.got, c.want)
		}
	}
}
