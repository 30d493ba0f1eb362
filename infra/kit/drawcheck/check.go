// Package drawcheck checks a draw from what is public: that nobody was added to the roll, left
// out or moved, that the dice decided the order, and that the calls followed it. It is for
// whoever does not trust the operator.
//
// It shares no code with the system that it judges, not even the arithmetic of the dice's
// signature; the rules of the order are those by which the recount judges, too.
package drawcheck

import (
	"fmt"
	"slices"

	"flashsale/infra/kit/drawcheck/rules"
)

// Published is a draw as everybody can read it.
type Published struct {
	Sale  Sale
	Chain Chain // the dice that it must follow
	Pages [rules.Pages][]rules.Leaf
}

// Report is what a check of a draw has found.
type Report struct {
	*Published
	// Wrong has a sentence for each thing that is not as it must be, at most a few of a kind.
	Wrong []string
	// Pending says what could not be checked, because it is not published yet or because what it
	// follows from is wrong.
	Pending []string
	// Called is how many people each call called, in the order of the calls.
	Called []int64

	order *rules.Judgement
}

// Check checks a draw: the pages of its roll, its dice and its calls.
func (p *Published) Check() *Report {
	r, s := &Report{Published: p}, &p.Sale
	if s.Round != 0 {
		r.checkTimes()
	}
	r.order = rules.Check(&s.Draw, &p.Pages, p.Chain.Verify)
	r.Called = r.order.Called
	for _, f := range r.order.Faults {
		r.Wrong = append(r.Wrong, f.Text)
	}
	switch {
	case s.Round == 0:
		r.Pending = append(r.Pending, "the roll: it is closed after entering, which ends at "+rules.Clock(s.EnterUntil))
	case len(s.Signature) == 0:
		r.Pending = append(r.Pending, fmt.Sprintf("the dice: round %d is signed at %s", s.Round, rules.Clock(p.Chain.TimeOf(s.Round))))
	case !r.HasOrder():
		r.Pending = append(r.Pending, "the calls: the order is not the one that the dice gave")
	}
	return r
}

func (r *Report) expect(isSo bool, format string, args ...any) {
	if !isSo {
		r.Wrong = append(r.Wrong, fmt.Sprintf(format, args...))
	}
}

// checkTimes checks that nobody could know the dice when the roll was closed, and that the calls are
// after the dice and within the sale.
func (r *Report) checkTimes() {
	s, signed := &r.Sale, r.Chain.TimeOf(r.Sale.Round)
	r.expect(signed.After(s.ClosedAt), "round %d was signed at %s, but the roll was open until %s: the dice were known before", s.Round, rules.Clock(signed), rules.Clock(s.ClosedAt))
	for i, c := range s.Calls {
		if i == 0 {
			r.expect(c.From.After(signed), "the first call is from %s, before round %d was signed at %s", rules.Clock(c.From), s.Round, rules.Clock(signed))
			r.expect(!c.From.Before(s.OpensAt), "call 1 is from %s, before the sale begins at %s", rules.Clock(c.From), rules.Clock(s.OpensAt))
		}
		r.expect(!c.Until.After(s.ClosesAt), "call %d lasts until %s, but the sale until %s", c.Number, rules.Clock(c.Until), rules.Clock(s.ClosesAt))
	}
}

// HasOrder reports whether the order of the roll is known.
func (r *Report) HasOrder() bool { return r.order.Ranks != nil }

// Turn is where a leaf of the roll is in the order.
type Turn struct {
	Leaf rules.Leaf
	// OnRoll: the leaf is on the roll. The rest is zero otherwise, and without an order.
	OnRoll bool
	Rank   rules.Rank
	Place  int64 // 1 is called first
	// Call is the call that called the leaf; nil if none has.
	Call *rules.Call
}

// Turn finds a leaf.
func (r *Report) Turn(l rules.Leaf) Turn {
	t := Turn{Leaf: l}
	_, t.OnRoll = slices.BinarySearchFunc(r.Pages[l[0]], l, rules.Leaf.Compare)
	if !t.OnRoll || !r.HasOrder() {
		return t
	}
	t.Rank = rules.RankOf(r.Sale.Seed, l)
	t.Place = r.order.UpTo(t.Rank)
	for i := range r.Sale.Calls {
		if c := &r.Sale.Calls[i]; c.Calls(t.Rank) {
			t.Call = c
		}
	}
	return t
}
