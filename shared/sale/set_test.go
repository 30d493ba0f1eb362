package sale

import (
	"math/rand/v2"
	"testing"
)

// nthAbsent is the obvious implementation of NthAbsent.
func nthAbsent(members map[int]bool, n, limit int) int {
	for k := range limit {
		if members[k] {
			continue
		}
		if n == 0 {
			return k
		}
		n--
	}
	return -1
}

func TestASetBehavesLikeAMapOfNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 5, 63, 64, 65, 500, 998, 1000} {
		var s Set
		members := map[int]bool{}
		for _, k := range r.Perm(MaxShards)[:size] {
			s.Add(k)
			members[k] = true
		}
		if s.Len() != size {
			t.Errorf("%d members: Len() = %d", size, s.Len())
		}
		for k := range MaxShards {
			if s.Has(k) != members[k] {
				t.Errorf("%d members: Has(%d) = %t", size, k, s.Has(k))
			}
		}
		if both := s; size == 1 {
			other := Set{}
			other.Add(0)
			other.Add(MaxShards - 1)
			if both.Union(other); both.Len() != 3 || s.Len() != 1 || other.Len() != 2 {
				t.Errorf("the union of %d and %d has %d members", s.Len(), other.Len(), both.Len())
			}
		}
		for range 300 {
			limit := r.IntN(MaxShards + 1)
			n := r.IntN(limit + 2)
			if got, want := s.NthAbsent(n, limit), nthAbsent(members, n, limit); got != want {
				t.Fatalf("%d members: NthAbsent(%d, %d) = %d, want %d", size, n, limit, got, want)
			}
		}
	}
}

func TestNumbersOutOfRangeNeverJoinASet(t *testing.T) {
	var s Set
	for _, k := range []int{-1, -64, MaxShards, MaxShards + 23, 1 << 40} {
		s.Add(k)
		if s.Has(k) {
			t.Errorf("Has(%d) = true", k)
		}
	}
	if s.Len() != 0 {
		t.Errorf("Len() = %d, want 0", s.Len())
	}
}
