package model

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"time"
)

// bucket is a token bucket. It may go into debt by one call, whose size is known only
// once it has run.
type bucket struct {
	rate, depth, level float64
	at                 time.Time
}

func newBucket(rate float64, burst time.Duration, now time.Time) *bucket {
	depth := max(rate*burst.Seconds(), 1)
	return &bucket{rate: rate, depth: depth, level: depth, at: now}
}

func (b *bucket) open(now time.Time) bool {
	b.level = min(b.depth, b.level+b.rate*now.Sub(b.at).Seconds())
	b.at = now
	return b.level > 0
}

// pass takes one token, if there is one. A nil bucket has no limit.
func (b *bucket) pass(now time.Time) bool {
	if b == nil {
		return true
	}
	if !b.open(now) {
		return false
	}
	b.level--
	return true
}

// limits are those of a table: one pair for all of it and one per partition. It
// is safe for concurrent use.
type limits struct {
	config Config

	mu         sync.Mutex
	writes     *bucket
	reads      *bucket
	partitions map[string]*partition
}

type partition struct{ writes, reads *bucket }

func newLimits(c Config, now time.Time) *limits {
	return &limits{
		config: c, partitions: map[string]*partition{},
		writes: newBucket(c.TableWrites, c.Burst, now), reads: newBucket(c.TableReads, c.Burst, now),
	}
}

func (l *limits) of(pk string, now time.Time) *partition {
	if n := l.config.Partitions; n > 0 {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, l.config.Seed, pk)
		pk = strconv.FormatUint(h.Sum64()%uint64(n), 10)
	}
	p := l.partitions[pk]
	if p == nil {
		p = &partition{
			newBucket(l.config.PartitionWrites, l.config.Burst, now), newBucket(l.config.PartitionReads, l.config.Burst, now),
		}
		l.partitions[pk] = p
	}
	return p
}

// demand is what a call needs of each of its partitions.
type demand struct {
	units float64
	write bool
	// partial: parts that cannot be served do not stop the rest.
	partial bool
}

// take books a demand on each of the partitions and returns the indexes of
// those that are exhausted, all of them if the table is. If there are any,
// nothing is booked, except for what a partial call still gets.
func (l *limits) take(pks []string, d demand, now time.Time) (exhausted []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole := l.reads
	if d.write {
		whole = l.writes
	}
	full := !whole.open(now)
	var open []*bucket
	for i, pk := range pks {
		p := l.of(pk, now)
		b := p.reads
		if d.write {
			b = p.writes
		}
		if !b.open(now) || full {
			exhausted = append(exhausted, i)
		} else {
			open = append(open, b)
		}
	}
	if len(exhausted) > 0 && !d.partial {
		return exhausted
	}
	for _, b := range open {
		b.level -= d.units
		whole.level -= d.units
	}
	return exhausted
}

// charge books units of a call that has already run.
func (l *limits) charge(pk string, d demand, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole, part := l.reads, l.of(pk, now).reads
	if d.write {
		whole, part = l.writes, l.of(pk, now).writes
	}
	whole.level -= d.units
	part.level -= d.units
}
