package model

import (
	"reflect"
	"runtime"
	"testing"
)

func TestOneSeedGivesOneResult(t *testing.T) {
	// On several processors goroutines that wake at one instant run in any order.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := Config{
		Seed: 7, Shards: 20, Stock: 300, Users: 4000, Peak: 800, Repeats: 20, Sample: 500, TableWrites: 3000,
		Environments: 20, Concurrency: 60, Partitions: 3,
	}
	first, second := play(t, c), play(t, c)
	if !reflect.DeepEqual(first, second) {
		t.Errorf("the same seed gave\n%+v and\n%+v", first.Counts, second.Counts)
	}
	c.Seed = 8
	if other := play(t, c); reflect.DeepEqual(first.Counts, other.Counts) {
		t.Error("another seed gave the same result: it decides nothing")
	}
}
