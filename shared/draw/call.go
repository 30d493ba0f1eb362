package draw

import "time"

// Head is a draw from the closing of its roll on; zero before.
type Head struct {
	Roll     Digest
	Entrants int64
	// Round is the one round of the beacon that decides. It was chosen when the roll was
	// closed, and it lay in the future.
	Round    uint64
	ClosedAt time.Time
	// Seed and Signature, which is the round's, are zero until the round is known.
	Seed      Digest
	Signature []byte
}

// IsClosed reports whether the roll is closed.
func (h *Head) IsClosed() bool { return h.Round != 0 }

// HasSeed reports whether the order of the roll is known.
func (h *Head) HasSeed() bool { return len(h.Signature) > 0 }

// Call is one call of a draw.
type Call struct {
	Number      int64 // from 1; 0 is no call
	From, Until time.Time
	// Open: the call is for anybody, because everybody on the roll has been called.
	Open bool
	// Those with a rank above Lo and not above Hi are called. Complete: every shard has had the
	// window of the call and Hi is final. Nobody may buy before that, unless the call is Open.
	Lo, Hi   Rank
	Complete bool
	// Stock is how many units were left when Hi was chosen, At when the call was begun.
	Stock int64
	At    time.Time
}

// CallsNobody reports whether the call has come to nothing: no unit was left, or its Hi is not
// known.
func (c *Call) CallsNobody() bool { return !c.Open && (!c.Complete || c.Hi == c.Lo) }

// IsByRank reports whether people are called by their ranks if the call is completed now: not
// into one that is for anybody, not into one that has lasted for longer than the gap, and not into
// one that is over.
func (c *Call) IsByRank(now time.Time, gap time.Duration) bool {
	return !c.Open && !now.After(c.From.Add(gap)) && now.Before(c.Until)
}
