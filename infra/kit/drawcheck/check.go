package drawcheck

import (
	"fmt"
	"slices"
	"time"

	"flashsale/infra/kit/drawcheck/rules"
)

// Report is what a check of a draw has found.
type Report struct {
	Sale Sale
	// Wrong has a sentence for each thing that is not as it must be, at most a few of a kind.
	Wrong []string
	// Pending says what could not be checked, because it is not published yet or because what it
	// follows from is wrong.
	Pending []string
	// Called is how many people each call called, in the order of the calls.
	Called []int64

	pages *[Pages][]Leaf
	ranks []Rank // in order; nil without a seed that is right
}

// maxOfAKind bounds the sentences about one kind of fault: one forgery may move every leaf.
const maxOfAKind = 3

// Check checks a draw: the pages of its roll, its dice and its calls.
func Check(chain Chain, s Sale, pages *[Pages][]Leaf) *Report {
	r := &Report{Sale: s, pages: pages}
	if s.Round == 0 {
		r.Pending = append(r.Pending, fmt.Sprintf("the roll: it is closed after entering, which ends at %s", at(s.EnterUntil)))
		r.expect(len(s.Calls) == 0 && len(s.Signature) == 0, "there are dice or calls, but no roll")
		return r
	}
	r.checkRoll()
	r.checkRound(chain)
	if len(s.Signature) == 0 {
		r.Pending = append(r.Pending, fmt.Sprintf("the dice: round %d is signed at %s", s.Round, at(chain.TimeOf(s.Round))))
		r.expect(len(s.Calls) == 0, "people were called before the dice")
		return r
	}
	if !r.checkSeed(chain) {
		r.Pending = append(r.Pending, "the calls: the order is not the one that the dice gave")
		return r
	}
	r.ranks = ordered(s.Seed, pages)
	r.checkCalls()
	return r
}

func (r *Report) expect(isSo bool, format string, args ...any) bool {
	if !isSo {
		r.Wrong = append(r.Wrong, fmt.Sprintf(format, args...))
	}
	return isSo
}

// checkRoll checks that each page has its own leaves, each once, and that all of them are the
// roll whose digest and number were published.
func (r *Report) checkRoll() {
	leaves, faults := int64(0), 0
	for i, page := range r.pages {
		leaves += int64(len(page))
		for k, l := range page {
			isAbove := k == 0 || page[k-1].Compare(l) < 0
			if isAbove && int(l[0]) == i {
				continue
			}
			if faults++; faults > maxOfAKind {
				continue
			}
			switch {
			case int(l[0]) != i:
				r.expect(false, "page %02x has the leaf %s, which belongs to page %02x", i, l, l[0])
			case page[k-1] == l:
				r.expect(false, "page %02x has the leaf %s twice", i, l)
			default:
				r.expect(false, "page %02x is out of order at leaf %s", i, l)
			}
		}
	}
	r.expect(faults <= maxOfAKind, "and %d more leaves are out of place", faults-maxOfAKind)
	r.expect(leaves == r.Sale.Entrants, "the roll has %d leaves, but %d entrants were published", leaves, r.Sale.Entrants)
	if digest := rules.DigestOf(r.pages); digest != r.Sale.Roll {
		r.expect(false, "the pages have the digest %s, but the roll was published as %s: a leaf was added, removed or changed", digest, r.Sale.Roll)
	}
}

// checkRound checks that nobody could know the dice when the roll was closed.
func (r *Report) checkRound(chain Chain) {
	s := &r.Sale
	signed := chain.TimeOf(s.Round)
	r.expect(!s.ClosedAt.Before(s.EnterUntil), "the roll was closed at %s, while people could enter until %s", at(s.ClosedAt), at(s.EnterUntil))
	r.expect(signed.After(s.ClosedAt), "round %d was signed at %s, but the roll was open until %s: the dice were known before", s.Round, at(signed), at(s.ClosedAt))
	if len(s.Calls) > 0 {
		r.expect(s.Calls[0].From.After(signed), "the first call is from %s, before round %d was signed at %s", at(s.Calls[0].From), s.Round, at(signed))
	}
}

// checkSeed checks that the order is the one of the roll, the sale and the round.
func (r *Report) checkSeed(chain Chain) bool {
	s := &r.Sale
	if err := chain.Verify(s.Round, s.Signature); err != nil {
		return r.expect(false, "the signature is not that of round %d: %v", s.Round, err)
	}
	want := rules.SeedOf(s.ID, s.Roll, s.Signature)
	return r.expect(s.Seed == want, "the seed is %s, but roll and signature give %s", s.Seed, want)
}

// checkCalls checks that the calls follow the order without a gap, and each other in time.
func (r *Report) checkCalls() {
	var last Rank // where the calls before ended
	for i := range r.Sale.Calls {
		c := &r.Sale.Calls[i]
		r.Called = append(r.Called, 0)
		if !r.expect(c.Number == int64(i+1), "call %d comes in place of call %d", c.Number, i+1) {
			return
		}
		r.checkTimes(i)
		if i > 0 && r.Sale.Calls[i-1].Hi == nil {
			r.expect(false, "call %d is not complete, but call %d has begun", i, i+1)
		}
		r.expect(c.Lo == last, "call %d begins above rank %s, but the calls before it ended at %s: people were left out or called again", c.Number, c.Lo, last)
		before := upTo(r.ranks, c.Lo)
		uncalled := int64(len(r.ranks)) - before
		r.expect(c.Open == (uncalled == 0), "call %d is %s, with %d people who have not been called", c.Number, forWhom(c.Open), uncalled)
		if c.Hi == nil {
			continue
		}
		last = *c.Hi
		r.Called[i] = r.checkHi(c, before, uncalled)
	}
}

func forWhom(open bool) string {
	if open {
		return "for everybody"
	}
	return "for people on the roll"
}

// checkHi checks where a call ends, and returns how many people it calls: as many as there were
// units, from the first one who had not been called. before are those with lower ranks.
func (r *Report) checkHi(c *Call, before, uncalled int64) int64 {
	hi := *c.Hi
	if c.Open {
		r.expect(hi == c.Lo, "call %d is for everybody, but ends at rank %s", c.Number, hi)
		return 0
	}
	if !r.expect(hi.Compare(c.Lo) >= 0, "call %d ends at rank %s, below its beginning %s", c.Number, hi, c.Lo) {
		return 0
	}
	_, isRank := slices.BinarySearchFunc(r.ranks, hi, Rank.Compare)
	r.expect(isRank || hi == c.Lo, "call %d ends at %s, which is nobody's rank", c.Number, hi)
	called := upTo(r.ranks, hi) - before
	r.expect(called == min(c.Stock, uncalled), "call %d called %d people, but there were units for %d and %d people who had not been called",
		c.Number, called, c.Stock, uncalled)
	return called
}

func (r *Report) checkTimes(i int) {
	s := &r.Sale
	c := &s.Calls[i]
	r.expect(c.From.Before(c.Until), "call %d ends at %s, not after its beginning at %s", c.Number, at(c.Until), at(c.From))
	r.expect(!c.Until.After(s.ClosesAt), "call %d lasts until %s, but the sale until %s", c.Number, at(c.Until), at(s.ClosesAt))
	if i == 0 {
		r.expect(!c.From.Before(s.OpensAt), "call 1 is from %s, before the sale begins at %s", at(c.From), at(s.OpensAt))
		return
	}
	// A call that called nobody is not waited for.
	before := &s.Calls[i-1]
	earliest := before.Until
	if before.callsNobody() {
		earliest = before.From
	}
	r.expect(c.From.After(earliest), "call %d is from %s, but call %d had people until %s", c.Number, at(c.From), before.Number, at(earliest))
}

func at(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }
