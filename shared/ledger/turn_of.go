package ledger

import (
	"context"
	"time"

	"flashsale/shared/draw"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Turn is how far a draw has come for one entry of it. Whoever has the entry and what is public of the draw computes
// the same.
type Turn struct {
	// OnRoll: the roll is closed, and the entry is on it.
	OnRoll bool
	// Rank is known, HasRank, once the dice are.
	Rank    draw.Rank
	HasRank bool
	// Call is the one in which the entry's owner may buy, also before it begins and after its end; zero before they
	// are called. The call that is for anybody is everybody's.
	Call draw.Call
	// Next is the earliest instant of the call after the newest one; zero while Call is not over, and if there can be
	// none. It may have passed: the draw function looks once a minute.
	Next time.Time
	// Again is the instant from which on the answer may be another one; zero if it stays as it is.
	Again time.Time
}

// Turn returns how far the draw of a sale has come for an entry that Entry returned. It fails with sale.DrawNotFound,
// sale.SaleNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Turn(ctx context.Context, saleID string, e Entry, times draw.Times) (Turn, error) {
	s, err := l.Sale(ctx, saleID)
	switch {
	case err != nil:
		return Turn{}, err
	case !s.HasDraw():
		return Turn{}, sale.RefuseNoDraw()
	case l.settled(s, times.Settle) == nil: // no roll is closed so early
		return Turn{Again: s.EnterUntil.Add(times.Settle)}, nil
	}
	head, err := l.drawHead(ctx, table.MaxTries, saleID)
	switch {
	case err != nil:
		return Turn{}, err
	case !head.IsClosed():
		return Turn{Again: s.EnterUntil.Add(times.Settle)}, nil
	case !head.HasSeed():
		return Turn{OnRoll: true, Again: head.ClosedAt.Add(times.Dice)}, nil
	}
	t := Turn{OnRoll: true, Rank: draw.RankOf(head.Seed, e.Leaf), HasRank: true}
	if s.IsRecalled() {
		return t, nil
	}
	newest, err := l.numbered(ctx, s, s.Call)
	if err != nil {
		return Turn{}, err
	}
	newest.From, newest.Until = s.OpensAt, s.ClosesAt // its end may have been moved since it was remembered
	if t.Call, err = l.callWith(ctx, s, newest, t.Rank); err != nil {
		return Turn{}, err
	}
	if now := l.now(); t.Call.Number != 0 && now.Before(t.Call.Until) {
		t.Again = t.Call.Until
		return t, nil
	}
	if next := (DrawState{Sale: s, Last: newest}).NextCallAt(times.Gap); next.Before(s.EndsAt) {
		t.Next, t.Again = next, next
	}
	if newest.Number != 0 && !newest.Complete && !newest.Open {
		t.Again = newest.From // it may still call people
	}
	return t, nil
}

// callWith returns the newest call of those up to the given one that is for the rank; zero if there is none yet. A call
// goes on where the one before it ended, and complete ones are remembered; but for their ends, which are read.
func (l *Ledger) callWith(ctx context.Context, s sale.Sale, c draw.Call, rank draw.Rank) (draw.Call, error) {
	var err error
	for c.Number != 0 && !c.Open && rank.Compare(c.Lo) <= 0 {
		if c, err = l.numbered(ctx, s, c.Number-1); err != nil {
			return draw.Call{}, err
		}
	}
	switch {
	case !c.Open && (!c.Complete || rank.Compare(c.Hi) > 0):
		return draw.Call{}, nil
	case c.Number != s.Call:
		s.Call = c.Number
		return l.readCallOf(ctx, table.MaxTries, s)
	}
	return c, nil
}

// numbered returns the call of that number of the sale; zero for 0.
func (l *Ledger) numbered(ctx context.Context, s sale.Sale, number int64) (draw.Call, error) {
	if number == 0 {
		return draw.Call{}, nil
	}
	s.Call = number
	return l.callOf(ctx, s)
}
