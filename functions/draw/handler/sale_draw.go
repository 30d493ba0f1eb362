package handler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"flashsale/shared/beacon"
	"flashsale/shared/draw"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// saleDraw is the draw of one sale during an invocation.
type saleDraw struct {
	*Handler
	listing ledger.Listing
	isDraft bool
	// next is when to look at the sale again; zero if this invocation has no more to do for it.
	next  time.Time
	shown Course
	// ranks are those of the whole roll, nil until a step needs them.
	ranks []draw.Rank
	// missed says why the dice are late.
	missed error
}

// step is what a draw needs next.
type step string

const (
	none   step = ""
	roll   step = "roll"   // close the roll
	seed   step = "seed"   // fetch the round and store the seed
	begin  step = "begin"  // begin a call, and finish it
	finish step = "finish" // finish a call that was cut off
)

// advance takes every step that is due.
func (c *saleDraw) advance(ctx context.Context) error {
	for {
		now := c.now() // before the state is read, which says whether a call that is due has units
		state, err := c.ledger.DrawState(ctx, c.listing.SaleID, c.times.Gap)
		if err != nil {
			return err
		}
		due, at := c.plan(state, now)
		c.shown.Call, c.next = state.Last.Number, at
		c.shown.DiceLateSeconds, c.shown.CallLateSeconds = c.lateness(state, due, now)
		if due == none || now.Before(at) {
			return nil
		}
		done, err := c.take(ctx, due, state)
		if err != nil || !done {
			return err
		}
		c.shown.Steps = append(c.shown.Steps, string(due))
	}
}

// plan returns the next step of a draw and when it is due; zero if that is not known, because it
// depends on what buyers or operators do.
func (c *saleDraw) plan(d ledger.DrawState, now time.Time) (step, time.Time) {
	nextCall := d.NextCallAt(c.times.Gap)
	switch {
	case !d.Head.IsClosed():
		return roll, d.Sale.EnterUntil.Add(c.times.Settle)
	case !d.Head.HasSeed():
		return seed, c.chain.TimeOf(d.Head.Round).Add(relayTime)
	case d.Sale.IsRecalled():
		return none, time.Time{}
	case d.Last.Number > 0 && !d.Last.Complete: // it was cut off; also after the sale, as shards may lack its window (P14)
		return finish, now
	case !now.Before(d.Sale.EndsAt) || d.Sale.Paused || !later(now, nextCall).Add(c.times.Gap/4).Before(d.Sale.EndsAt):
		return none, time.Time{}
	case now.Before(nextCall) || d.HasStock:
		return begin, nextCall
	}
	return none, time.Time{}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// relayTime is how long after it is signed relays have a round.
const relayTime = time.Second

// take takes a step. It reports false if that has changed nothing, so that what comes next is
// left to a later look.
func (c *saleDraw) take(ctx context.Context, due step, d ledger.DrawState) (done bool, err error) {
	switch due {
	case roll:
		_, err := c.ledger.CloseRoll(ctx, d.Sale, c.chain.RoundAt, c.times.Dice)
		return err == nil, err
	case seed:
		return c.throw(ctx, d)
	}
	if due == begin || d.Last.IsByRank(c.now(), c.times.Gap) {
		if err := c.rank(ctx, d); err != nil {
			return false, err
		}
	}
	if due == begin {
		if begun, err := c.ledger.BeginCall(ctx, d, c.ranks, c.times.Gap); err != nil || !begun {
			c.next = time.Time{} // an operator has changed the sale meanwhile
			return false, err
		}
	}
	call, err := c.ledger.FinishCall(ctx, d.Sale.ID, c.ranks, c.times.Gap)
	if !call.Complete {
		c.next = time.Time{}
	}
	return call.Complete, err
}

// rank computes the ranks of the roll, once in an invocation: the roll is read whole. A call does
// not begin before they are known, because from then on people are waiting for its end.
func (c *saleDraw) rank(ctx context.Context, d ledger.DrawState) (err error) {
	if c.ranks == nil {
		c.ranks, err = c.ledger.Ranks(ctx, d.Sale, d.Head)
	}
	return err
}

// throw stores the seed that follows from the round. Without the round nothing is wrong here:
// relays have it a second after it is signed, or later. So that does not fail the invocation;
// how late it is has an alarm of its own.
func (c *saleDraw) throw(ctx context.Context, d ledger.DrawState) (done bool, err error) {
	signature, err := c.dice.Signature(ctx, d.Head.Round)
	if err != nil {
		c.missed = sale.Fail(sale.Busy, err)
		now := c.now()
		late := now.Sub(c.chain.TimeOf(d.Head.Round))
		c.next = now.Add(min(max(late/4, time.Second), watch))
		c.shown.DiceLateSeconds = int64(late / time.Second)
		return false, nil
	}
	c.missed = nil
	value := draw.SeedOf(d.Sale.ID, d.Head.Roll, beacon.Randomness(signature))
	if err := c.ledger.SetSeed(ctx, d.Sale, value, signature); err != nil {
		return false, fmt.Errorf("round %d: %w", d.Head.Round, err)
	}
	return true, nil
}

// lateness is for how many seconds the round has been missed, and a call has been due or has not
// been complete.
func (c *saleDraw) lateness(d ledger.DrawState, due step, now time.Time) (dice, call int64) {
	since := func(t time.Time) int64 { return max(0, int64(now.Sub(t)/time.Second)) }
	switch due {
	case seed:
		return since(c.chain.TimeOf(d.Head.Round)), 0
	case begin:
		return 0, since(d.NextCallAt(c.times.Gap))
	case finish:
		return 0, since(d.Last.From)
	}
	return 0, 0
}

// report writes one line per time slice, with the figures that alarms watch (P11).
func (c *saleDraw) report(event *telemetry.Event, err error) {
	event.Text("saleId", c.listing.SaleID)
	event.Text("steps", strings.Join(c.shown.Steps, " "))
	event.Int("call", int(c.shown.Call))
	c.shown.NextStep = ""
	if !c.next.IsZero() {
		c.shown.NextStep = httpapi.Time(c.next)
		event.Text("nextStep", c.shown.NextStep)
	}
	event.Metric("diceLateSeconds", telemetry.Seconds, int(c.shown.DiceLateSeconds))
	event.Metric("callLateSeconds", telemetry.Seconds, int(c.shown.CallLateSeconds))
	if err == nil {
		err = c.missed
	}
	event.End("course", sale.CodeOf(err), err)
}
