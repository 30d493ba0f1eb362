package model

import (
	"math"
	"testing"
	"time"
)

func TestABucketLetsItsRateThroughAndNoMore(t *testing.T) {
	at := time.Unix(0, 0)
	b := newBucket(100, 100*time.Millisecond, at)
	passed := 0
	for range 1000 {
		at = at.Add(5 * time.Millisecond)
		if b.open(at) {
			b.level--
			passed++
		}
	}
	if passed < 500 || passed > 515 {
		t.Errorf("%d of 1,000 calls in 5 s passed a limit of 100 a second", passed)
	}
}

func TestAnExhaustedPartitionTakesNothingFromTheOthers(t *testing.T) {
	at := time.Unix(0, 0)
	l := newLimits(Config{PartitionWrites: 10, TableWrites: 1000, Burst: 100 * time.Millisecond}.withDefaults(), at)
	for range 3 {
		if got := l.take([]string{"hot"}, demand{units: 1, write: true}, at); len(got) > 0 {
			break
		}
	}
	if got := l.take([]string{"cold", "hot"}, demand{units: 2, write: true}, at); len(got) != 1 || got[0] != 1 {
		t.Errorf("exhausted: %v, want the hot one", got)
	}
	if got := l.take([]string{"cold"}, demand{units: 1, write: true}, at); len(got) != 0 {
		t.Errorf("exhausted: %v, want the cold one untouched", got)
	}
}

func TestLatenciesHaveTheirMedianAndTheirTail(t *testing.T) {
	var h histogram
	d := newRandomSource(1, 1)
	for range 100_000 {
		h.add(d.lognormal(20*time.Millisecond, 3), 1)
	}
	if got := h.quantile(0.5); math.Abs(got.Seconds()-0.020) > 0.001 {
		t.Errorf("median %v, want 20 ms", got)
	}
	if got := h.quantile(0.99); math.Abs(got.Seconds()-0.060) > 0.004 {
		t.Errorf("p99 %v, want 60 ms", got)
	}
}

func TestASampledCrowdIsStillCountedWhole(t *testing.T) {
	c := roomy(10, 500)
	c.Stock, c.Users, c.Sample, c.Repeats = 200, 20_000, 500, 20
	r := play(t, c)
	if r.Sampled < 2 {
		t.Errorf("each simulated user stands for %d, want several", r.Sampled)
	}
	if got := float64(r.Accepted) + r.Refused + r.Unanswered; got != float64(c.Users) {
		t.Errorf("%.0f users have an answer, want %d", got, c.Users)
	}
	if r.Accepted != 200 {
		t.Errorf("%d accepted, want every unit sold by somebody who was not sampled", r.Accepted)
	}
}

func TestAConfigurationThatMakesNoSenseIsRefused(t *testing.T) {
	for _, c := range []Config{
		{}, {Shards: 2, Stock: 1, Users: 1, Peak: 1}, {Shards: 1, Stock: 1, Users: 1},
		{Shards: 1, Stock: 1, Users: 1, Peak: 1, Spread: 0.5}, {Shards: 1, Stock: 1, Users: 1, Peak: 1, Environments: 2, Concurrency: 1},
	} {
		if _, err := Run(c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}
