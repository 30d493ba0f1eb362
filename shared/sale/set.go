package sale

import "math/bits"

// Set is a set of shard numbers 0…MaxShards-1. The zero value is empty, and a copy is
// independent of the original.
type Set struct {
	words [(MaxShards + 63) / 64]uint64
}

// Add puts k into the set; a number out of range is ignored.
func (s *Set) Add(k int) {
	if k >= 0 && k < MaxShards {
		s.words[k/64] |= 1 << (k % 64)
	}
}

// Has reports whether k is in the set.
func (s *Set) Has(k int) bool {
	return k >= 0 && k < MaxShards && s.words[k/64]&(1<<(k%64)) != 0
}

// Union adds every member of other.
func (s *Set) Union(other Set) {
	for i, w := range other.words {
		s.words[i] |= w
	}
}

// Without returns the members that other does not have, in their order.
func (s *Set) Without(other Set) (members []int) {
	for i, w := range s.words {
		for w &^= other.words[i]; w != 0; w &= w - 1 {
			members = append(members, i*64+bits.TrailingZeros64(w))
		}
	}
	return members
}

// Len is the number of members.
func (s *Set) Len() int {
	n := 0
	for _, w := range s.words {
		n += bits.OnesCount64(w)
	}
	return n
}

// NthAbsent returns the n-th (from 0) of the numbers 0…limit-1 that are not in the set,
// or -1 if there are fewer.
func (s *Set) NthAbsent(n, limit int) int {
	for i, w := range s.words {
		absent := ^w
		if left := limit - i*64; left < 64 {
			if left <= 0 {
				return -1
			}
			absent &= 1<<left - 1
		}
		count := bits.OnesCount64(absent)
		if n >= count {
			n -= count
			continue
		}
		for ; n > 0; n-- {
			absent &= absent - 1
		}
		return i*64 + bits.TrailingZeros64(absent)
	}
	return -1
}
