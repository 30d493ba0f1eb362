package drawcheck

import (
	"slices"

	"flashsale/infra/kit/drawcheck/rules"
)

// Turn is where a leaf of the roll is in the order.
type Turn struct {
	Leaf Leaf
	// OnRoll: the leaf is on the roll. The rest is zero otherwise, and without an order.
	OnRoll bool
	Rank   Rank
	Place  int64 // 1 is called first
	// Call is the call that called the leaf; nil if none has.
	Call *Call
}

// Turn finds a leaf.
func (r *Report) Turn(l Leaf) Turn {
	t := Turn{Leaf: l}
	_, t.OnRoll = slices.BinarySearchFunc(r.pages[l[0]], l, Leaf.Compare)
	if !t.OnRoll || r.ranks == nil {
		return t
	}
	t.Rank = rules.RankOf(r.Sale.Seed, l)
	t.Place = upTo(r.ranks, t.Rank)
	for i, c := range r.Sale.Calls {
		if c.Hi != nil && t.Rank.Compare(c.Lo) > 0 && t.Rank.Compare(*c.Hi) <= 0 {
			t.Call = &r.Sale.Calls[i]
		}
	}
	return t
}

// HasOrder reports whether the order of the roll is known.
func (r *Report) HasOrder() bool { return r.ranks != nil }
