package sale

import (
	"cmp"
	"slices"
	"sort"
)

// OrdersPerShard is how many orders a second one stock shard is planned for. A
// transaction keeps an item busy for about 10 ms, so at 20 a second a fifth of
// the attempts conflict; the ceiling is near 100.
const OrdersPerShard = 20

// DefaultOrdersPerSecond sizes a sale that gives neither shards nor a rate.
const DefaultOrdersPerSecond = 1000

// ShardsFor returns how many shards a sale of stock units needs to sell rate orders a
// second: ⌈rate/20⌉, at least 1, at most a tenth of the stock so that shards do not run
// empty early, and at most MaxShards.
func ShardsFor(rate, stock int64) int {
	n := (rate + OrdersPerShard - 1) / OrdersPerShard
	return int(max(1, min(n, stock/10, MaxShards)))
}

// BucketsFor returns how many partitions hold the claims of a sale of that many shards:
// every order writes a shard and a claim once, and claims do not conflict, so a quarter
// as many suffice.
func BucketsFor(shards int) int { return (shards + 3) / 4 }

// Share returns the number of units that shard k of n gets of a total: spread evenly,
// the remainder to the first shards.
func Share(total int64, k, n int) int64 {
	share := total / int64(n)
	if int64(k) < total%int64(n) {
		share++
	}
	return share
}

// Level returns how many units to take from each shard: units in total, or all if there
// are fewer. The rest is spread as evenly as the shards allow, so that they run empty
// at about the same time.
func Level(stock []int64, units int64) []int64 {
	left, highest := -units, int64(0)
	for _, n := range stock {
		left += n
		highest = max(highest, n)
	}
	left = max(0, left)
	kept := func(level int64) (sum int64) {
		for _, n := range stock {
			sum += min(n, level)
		}
		return sum
	}
	// Every shard keeps up to level units; one more each would be too many.
	level := int64(sort.Search(int(highest), func(n int) bool { return kept(int64(n)+1) > left }))
	spare := left - kept(level)
	takes := make([]int64, len(stock))
	for k, n := range stock {
		if takes[k] = max(0, n-level); takes[k] > 0 && spare > 0 {
			takes[k]--
			spare--
		}
	}
	return takes
}

// BucketOf returns the bucket, 0…buckets-1, of the user's claim. It is part of the
// stored format: a user's bucket never changes (P3).
func BucketOf(user string, buckets int) int {
	return int(mix(hash(user)) % uint64(buckets))
}

// ShardFor returns a shard, 0…shards-1, outside the empty set, or -1 when there is
// none. Users spread evenly over the open shards; each try picks a different one if
// there is one.
func ShardFor(user string, try int, empty *Set, shards int) int {
	open := shards - empty.Len()
	if open <= 0 {
		return -1
	}
	// A second mix makes the shard independent of the bucket; a step less than the
	// number of open shards makes the next try use another shard.
	h := mix(mix(hash(user)))
	first := h % uint64(open)
	step := uint64(0)
	if open > 1 {
		step = 1 + mix(h)%uint64(open-1)
	}
	return empty.NthAbsent(int((first+uint64(try)*step)%uint64(open)), shards)
}

// ShardsInOrder returns up to most shards outside the set in the user's order: everybody has an order of their own,
// and another one at each turn.
func ShardsInOrder(user string, turn int, but *Set, shards, most int) []int {
	h := mix(hash(user) + uint64(turn))
	var open []int
	for k := range shards {
		if !but.Has(k) {
			open = append(open, k)
		}
	}
	slices.SortFunc(open, func(a, b int) int { return cmp.Compare(mix(h^uint64(a)), mix(h^uint64(b))) })
	return open[:min(len(open), most)]
}

// hash is FNV-1a with 64 bits, written out because the standard library's
// allocates, and because the stored format must not change with a library.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix is the finalizer of SplitMix64: every input bit affects every output bit.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
