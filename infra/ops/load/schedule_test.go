package load

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
	return options{rate: 200, duration: 30 * time.Second, seed: 7}
}

func TestTheScheduleHasTheRequestedRateAndBeginsWithThePeak(t *testing.T) {
	o := someOptions()
	for peak, want := range map[float64]float64{0: o.rate * peakFor.Seconds(), 2000: 2000 * peakFor.Seconds()} {
		o.peak = peak
		visits := scheduled(t, o)
		first := slices.IndexFunc(visits, func(v visit) bool { return v.At >= peakFor })
		whole := o.rate*(o.duration-peakFor).Seconds() + want
		// The tolerance is five standard deviations of a Poisson count.
		for got, want := range map[int]float64{first: want * (1 - lateShare), len(visits): whole} {
			if math.Abs(float64(got)-want) > 5*math.Sqrt(want) {
				t.Errorf("with a peak of %v/s: %v buyers, want about %v", peak, got, want)
			}
		}
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
		if i > 0 && v.At < visits[i-1].At {
			t.Fatalf("buyer %d arrives before the previous one", i)
		}
		if v.At < 0 || v.At >= o.duration {
			t.Errorf("buyer %d arrives at %v", i, v.At)
		}
		if v.kind == late && v.At < o.duration*2/3 {
			t.Errorf("a late buyer arrives at %v", v.At)
		}
		if many := v.Clicks > 1; many != (v.kind == greedy) || v.Clicks < 1 || v.Clicks > mostClicks {
			t.Errorf("a %v buyer clicks %d times", v.kind, v.Clicks)
		}
		if v.Key != "" {
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
