package rules

import (
	"fmt"
	"slices"
	"time"
)

// Draw is a draw, as it is published and as it is stored.
type Draw struct {
	SaleID     string
	EnterUntil time.Time
	// Roll, Entrants, Round and ClosedAt are zero until the roll is closed.
	Roll     Digest
	Entrants int64
	Round    uint64
	ClosedAt time.Time
	// Seed and Signature are zero until the dice have fallen.
	Seed      Digest
	Signature []byte
	Calls     []Call
}

// Call is one call of a draw, as it is published.
type Call struct {
	Number int64     `json:"call"`
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	Lo     Rank      `json:"lo"`
	// Hi is nil while the call is not complete.
	Hi *Rank `json:"hi"`
	// Stock is how many units were left when the call was completed; 0 also if it was given up.
	Stock int64 `json:"stock"`
	Open  bool  `json:"open"`
}

// CallsNobody reports whether a call has come to nothing, so that the next one need not wait for
// its end.
func (c *Call) CallsNobody() bool { return !c.Open && (c.Hi == nil || *c.Hi == c.Lo) }

// Calls reports whether the call is for a rank.
func (c *Call) Calls(r Rank) bool { return c.Hi != nil && c.Lo.Compare(r) < 0 && r.Compare(*c.Hi) <= 0 }

// Fault is something in a draw that is not as it must be, and the promise that this breaks.
type Fault struct {
	Promise string
	Call    int64 // the call that it is about; 0 for none
	Text    string
}

// Judgement is what a check of a draw has found.
type Judgement struct {
	Faults []Fault
	// Ranks are those of the roll in the order in which they are called; nil without a seed that is right.
	Ranks []Rank
	// Called is how many people each call called, in the order of the calls.
	Called []int64

	draw *Draw
	call int64 // that is being checked
}

// maxOfAKind bounds the sentences about one kind of fault: one forgery may move every leaf.
const maxOfAKind = 3

// Check checks a draw by the pages of its roll. verify says why a signature is not that of a round;
// if it is nil, every signature is taken.
func Check(d *Draw, pages *[Pages][]Leaf, verify func(round uint64, signature []byte) error) *Judgement {
	j := &Judgement{draw: d}
	if d.Round == 0 {
		j.expect("P28", len(d.Calls) == 0 && len(d.Signature) == 0, "there are dice or calls, but no roll")
		return j
	}
	leaves := j.checkRoll(pages)
	if len(d.Signature) == 0 {
		j.expect("P28", len(d.Calls) == 0, "people were called before the dice")
		return j
	}
	if verify != nil {
		if err := verify(d.Round, d.Signature); err != nil {
			j.expect("P28", false, "the signature is not that of round %d: %v", d.Round, err)
			return j
		}
	}
	seed := SeedOf(d.SaleID, d.Roll, d.Signature)
	if j.expect("P28", d.Seed == seed, "the seed is %s, but roll and signature give %s", d.Seed, seed) {
		j.Ranks = make([]Rank, 0, leaves)
		for _, leaves := range pages {
			for _, l := range leaves {
				j.Ranks = append(j.Ranks, RankOf(seed, l))
			}
		}
		slices.SortFunc(j.Ranks, Rank.Compare)
		j.checkCalls()
	}
	return j
}

func (j *Judgement) expect(promise string, isSo bool, format string, args ...any) bool {
	if !isSo {
		j.Faults = append(j.Faults, Fault{promise, j.call, fmt.Sprintf(format, args...)})
	}
	return isSo
}

// checkRoll checks that each page has its own leaves, each once, and that all of them are the
// roll whose digest and number were published, which was closed after entering. It returns their number.
func (j *Judgement) checkRoll(pages *[Pages][]Leaf) (leaves int64) {
	d, faults := j.draw, 0
	for i, page := range pages {
		leaves += int64(len(page))
		for k, l := range page {
			if isAbove := k == 0 || page[k-1].Compare(l) < 0; isAbove && int(l[0]) == i {
				continue
			}
			if faults++; faults <= maxOfAKind {
				j.expect("P27", false, "page %02x has the leaf %s in the wrong place: it is there twice, out of order or of another page", i, l)
			}
		}
	}
	j.expect("P27", faults <= maxOfAKind, "and %d more leaves are out of place", faults-maxOfAKind)
	j.expect("P27", leaves == d.Entrants, "the roll has %d leaves, but %d entrants were published", leaves, d.Entrants)
	digest := DigestOf(pages)
	j.expect("P27", digest == d.Roll, "the pages have the digest %s, but the roll was published as %s: a leaf was added, removed or changed", digest, d.Roll)
	j.expect("P27", !d.ClosedAt.Before(d.EnterUntil), "the roll was closed at %s, while people could enter until %s", Clock(d.ClosedAt), Clock(d.EnterUntil))
	return leaves
}

// checkCalls checks that the calls follow the order without a gap, and each other in time.
func (j *Judgement) checkCalls() {
	var last Rank // where the calls before ended
	for i := range j.draw.Calls {
		c := &j.draw.Calls[i]
		j.call = int64(i + 1)
		j.Called = append(j.Called, 0)
		if !j.expect("P30", c.Number == j.call, "call %d comes in place of call %d", c.Number, j.call) {
			return
		}
		j.expect("P29", c.From.Before(c.Until), "call %d ends at %s, not after its beginning at %s", c.Number, Clock(c.Until), Clock(c.From))
		if i > 0 {
			j.checkNext(&j.draw.Calls[i-1], c)
		}
		j.expect("P30", c.Lo == last, "call %d begins above rank %s, but the calls before it ended at %s: people were left out or called again", c.Number, c.Lo, last)
		before := j.UpTo(c.Lo)
		uncalled := int64(len(j.Ranks)) - before
		j.expect("P30", c.Open == (uncalled == 0), "call %d is %s, with %d people who have not been called", c.Number, forWhom(c.Open), uncalled)
		if c.Hi == nil {
			continue
		}
		last = *c.Hi
		j.Called[i] = j.checkHi(c, before, uncalled)
	}
}

// checkNext checks a call by the one before. One that called nobody is not waited for.
func (j *Judgement) checkNext(before, c *Call) {
	j.expect("P30", before.Hi != nil, "call %d is not complete, but call %d has begun", before.Number, c.Number)
	earliest := before.Until
	if before.CallsNobody() {
		earliest = before.From
	}
	j.expect("P29", c.From.After(earliest), "call %d is from %s, but call %d had people until %s", c.Number, Clock(c.From), before.Number, Clock(earliest))
}

func forWhom(open bool) string {
	if open {
		return "for everybody"
	}
	return "for people on the roll"
}

// checkHi checks where a call ends, and returns how many people it calls: as many as there were
// units, from the first one who had not been called. before are those with lower ranks.
func (j *Judgement) checkHi(c *Call, before, uncalled int64) int64 {
	hi := *c.Hi
	if c.Open {
		j.expect("P30", hi == c.Lo, "call %d is for everybody, but ends at rank %s", c.Number, hi)
		return 0
	}
	if !j.expect("P30", hi.Compare(c.Lo) >= 0, "call %d ends at rank %s, below its beginning %s", c.Number, hi, c.Lo) {
		return 0
	}
	_, isRank := slices.BinarySearchFunc(j.Ranks, hi, Rank.Compare)
	j.expect("P30", isRank || hi == c.Lo, "call %d ends at %s, which is nobody's rank", c.Number, hi)
	called := j.UpTo(hi) - before
	j.expect("P30", called == min(c.Stock, uncalled), "call %d called %d people, but there were units for %d and %d people who had not been called",
		c.Number, called, c.Stock, uncalled)
	return called
}

// UpTo returns how many of the ranks are not above r.
func (j *Judgement) UpTo(r Rank) int64 {
	i, found := slices.BinarySearchFunc(j.Ranks, r, Rank.Compare)
	if found {
		i++
	}
	return int64(i)
}

// Clock is an instant as it stands in a fault.
func Clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }
