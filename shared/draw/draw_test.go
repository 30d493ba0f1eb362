package draw

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// ranksOf are random ranks whose first bytes are often the same.
func ranksOf(r *rand.Rand, n int) []Rank {
	ranks := make([]Rank, n)
	for i := range ranks {
		ranks[i][0] = byte(r.IntN(4))
		binary.BigEndian.PutUint64(ranks[i][8:], r.Uint64())
	}
	return ranks
}

func TestAPageHasItsOwnLeavesInOrderAndEachOnce(t *testing.T) {
	a, b, other := Leaf{7, 1}, Leaf{7, 2}, Leaf{8}
	for _, tt := range []struct {
		name   string
		leaves []Leaf
		ok     bool
	}{
		{"an empty page", nil, true},
		{"one leaf", []Leaf{a}, true},
		{"two in order", []Leaf{a, b}, true},
		{"two out of order", []Leaf{b, a}, false},
		{"one twice", []Leaf{a, a}, false},
		{"another page's", []Leaf{other}, false},
		{"another page's at the end", []Leaf{a, b, other}, false},
	} {
		if err := Check(7, tt.leaves); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestAPartOfALeafIsNoLeaf(t *testing.T) {
	for _, n := range []int{1, 31, 33, 63} {
		if _, err := Split(make([]byte, n)); err == nil {
			t.Errorf("%d bytes are read as whole leaves", n)
		}
	}
}

func TestTheNthAboveIsWhatSortingSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		ranks := ranksOf(r, r.IntN(40))
		sorted := slices.SortedFunc(slices.Values(ranks), Rank.Compare)
		lo := Rank{byte(r.IntN(5))}
		if len(ranks) > 0 && r.IntN(2) == 0 {
			lo = ranks[r.IntN(len(ranks))]
		}
		n := int64(r.IntN(45))
		wantHi, wantCalled := lo, int64(0)
		for _, rank := range sorted {
			if slices.Compare(rank[:], lo[:]) > 0 && wantCalled < n {
				wantHi, wantCalled = rank, wantCalled+1
			}
		}
		before := slices.Clone(ranks)
		if hi, called := NthAbove(ranks, lo, n); hi != wantHi || called != wantCalled {
			t.Fatalf("number %d above %s of %v is %s with %d called, want %s with %d", n, lo, sorted, hi, called, wantHi, wantCalled)
		}
		if !slices.Equal(ranks, before) {
			t.Fatal("the ranks have another order")
		}
	}
	if hi, called := NthAbove([]Rank{{1}}, Rank{}, -1); hi != (Rank{}) || called != 0 {
		t.Errorf("a negative number of units calls %d up to %s", called, hi)
	}
}

func TestValuesAreLowerCaseHexadecimal(t *testing.T) {
	roundTrip(t, Digest{0xab, 31: 1}, ParseDigest)
	roundTrip(t, Rank{0xab, 15: 1}, ParseRank)
}

func roundTrip[T interface {
	comparable
	String() string
}](t *testing.T, value T, parse func(string) (T, error)) {
	t.Helper()
	text := value.String()
	if again, err := parse(text); err != nil || again != value {
		t.Errorf("%s is read as %v, %v", text, again, err)
	}
	if !strings.HasPrefix(text, "ab00") || !strings.HasSuffix(text, "0001") {
		t.Errorf("the text is %s", text)
	}
	for _, wrong := range []string{"", strings.ToUpper(text), text[2:], text + "00", text[:len(text)-1], "0x" + text[2:], text[:len(text)-2] + "0g", " " + text[1:]} {
		if again, err := parse(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, again)
		}
	}
}
