package sale

import (
	"cmp"
	"time"
)

// MaxAhead is how far in the future an edit's instant may be: more than clocks
// differ, but not so much that later edits are blocked for long.
const MaxAhead = time.Minute

// Edit asks for a change of an existing sale's pause flag or window, or for more time to pay. Edits are
// ordered by their instants.
type Edit struct {
	SaleID string
	// ChangeID is the edit's id: with the same one it is applied once. "" lets the ledger
	// make one.
	ChangeID string
	Author
	// ReadVersion is what the author had seen; nil makes the edit, whatever there was since. But a
	// resumption with nil leaves a person's pause as it is.
	ReadVersion *ReadVersion
	// At is the edit's instant: an edit that is older than the newest one changes
	// nothing. Zero means that the edit applies in any case, as the newest one.
	At time.Time
	// Paused is the new pause flag, or nil to keep it.
	Paused *bool
	// OpensAt and ClosesAt are the new window, or both zero to keep it. In a sale with a draw
	// they are the new BeginsAt and EndsAt, and Until may be a later end of the newest call.
	OpensAt, ClosesAt time.Time
	Until             time.Time
	// PayUntil gives all orders that are not paid time until then, at most MaxExtension from now; zero keeps it.
	// Such an edit asks for nothing else.
	PayUntil time.Time
	// DrawLead is the lead of Creation.CheckDraw, for a rescheduling before the first call.
	DrawLead time.Duration
}

// MaxExtension is how far ahead of its request an extension's PayUntil may be.
const MaxExtension = 7 * 24 * time.Hour

// Check validates the edit at the instant now.
func (e *Edit) Check(now time.Time) error {
	switch {
	case !ValidID(e.SaleID):
		return RefuseID("saleId")
	case e.At.After(now.Add(MaxAhead)):
		return Refuse(InvalidRequest, "at must not lie in the future")
	case !e.At.IsZero() && !inRange(e.At):
		return Refuse(InvalidRequest, "at is out of range")
	case e.Reschedules():
		if err := checkWindow(e.OpensAt, e.ClosesAt); err != nil {
			return err
		}
	case e.Extends() && (!inRange(e.PayUntil) || e.PayUntil.After(now.Add(MaxExtension))):
		return Refusef(InvalidRequest, "until must be at most %d days ahead", MaxExtension/(24*time.Hour))
	}
	if !e.Until.IsZero() && (!e.Reschedules() || !inRange(e.Until)) {
		return Refuse(InvalidRequest, "until is out of range")
	}
	return cmp.Or(checkChangeID(e.ChangeID), e.Author.Check())
}

// Change returns what the edit asks for.
func (e *Edit) Change() Change {
	c := Change{
		ID: e.ChangeID, Action: ActionReschedule, At: e.At, Author: e.Author, OpensAt: e.OpensAt, ClosesAt: e.ClosesAt,
		Until: e.Until,
	}
	switch {
	case e.Extends():
		c.Action, c.PayUntil = ActionExtend, e.PayUntil
	case e.Reschedules() || e.Paused == nil:
	case *e.Paused:
		c.Action = ActionPause
	default:
		c.Action = ActionResume
	}
	return c
}

// Reschedules reports whether the edit sets the window.
func (e *Edit) Reschedules() bool { return !e.OpensAt.IsZero() || !e.ClosesAt.IsZero() }

// Extends reports whether the edit gives more time to pay.
func (e *Edit) Extends() bool { return !e.PayUntil.IsZero() }

// MayFollowRecall reports whether the edit may be applied to a recalled sale: it does not
// let the sale sell again.
func (e *Edit) MayFollowRecall() bool { return e.Paused != nil && *e.Paused && !e.Reschedules() }

// Apply returns the sale after the edit at the instant at.
func (e *Edit) Apply(s Sale, at time.Time) Sale {
	s.ChangedAt = at
	if e.Paused != nil {
		s.Paused = *e.Paused
	}
	if e.Extends() {
		s.PayUntil, s.MinReader = e.PayUntil, max(s.MinReader, ReadsOperators)
	}
	switch {
	case !e.Reschedules():
	case s.HasDraw():
		e.applyToDraw(&s)
	default:
		s.OpensAt, s.ClosesAt = e.OpensAt, e.ClosesAt
	}
	return s
}

// Agrees reports whether the sale is already as the edit asks.
func (e *Edit) Agrees(s Sale) bool {
	if e.Paused != nil && s.Paused != *e.Paused || s.PayUntil.UnixMilli() < e.PayUntil.UnixMilli() {
		return false
	}
	// A call may have begun since, and then it ends later than the one that Until is of.
	return !e.Reschedules() ||
		s.Begins().UnixMilli() == e.OpensAt.UnixMilli() && s.Ends().UnixMilli() == e.ClosesAt.UnixMilli() &&
			(e.Until.IsZero() || s.ClosesAt.UnixMilli() >= e.Until.UnixMilli())
}

// CheckExtension refuses more time for orders that are not to be paid, and to take time back that buyers
// were told of.
func (e *Edit) CheckExtension(s Sale, now time.Time) error {
	switch {
	case !e.Extends():
		return nil
	case !s.AsksForPayment():
		return Refuse(Conflicting, "the sale asks for no payment")
	case !e.PayUntil.After(now):
		return Refuse(Conflicting, "until must be later than now")
	case e.PayUntil.UnixMilli() < s.PayUntil.UnixMilli():
		return Refusef(Conflicting,
			"more time was given before, until %s, and none of it is taken back", s.PayUntil.UTC().Format(time.RFC3339))
	}
	return nil
}

// CheckDraw refuses what a rescheduling must not do to a sale with a draw: people have been told
// when they are called and until when a unit is kept for them, so nothing becomes earlier. It
// allows anything in a sale without one, but for a later end of a call.
func (e *Edit) CheckDraw(s Sale) error {
	if !s.HasDraw() {
		if !e.Until.IsZero() {
			return Refuse(Conflicting, "until is the end of a call, and the sale has no draw")
		}
		return nil
	}
	after := e.Apply(s, s.ChangedAt)
	switch {
	case !e.Reschedules():
		return nil
	case e.OpensAt.UnixMilli() < s.BeginsAt.UnixMilli():
		return Refuse(Conflicting, "opensAt of a sale with a draw must not become earlier")
	case e.ClosesAt.UnixMilli() < s.EndsAt.UnixMilli():
		return Refuse(Conflicting, "closesAt of a sale with a draw must not become earlier")
	case s.Call == 0 && e.OpensAt.Before(s.EnterUntil.Add(e.DrawLead)):
		return refuseTooEarly(Conflicting, e.DrawLead)
	case s.Call == 0 && !e.Until.IsZero():
		return Refuse(Conflicting, "until is the end of a call, and nobody has been called yet")
	case s.Call > 0 && e.OpensAt.UnixMilli() != s.BeginsAt.UnixMilli():
		return Refuse(Conflicting, "opensAt must not change any more: the first call has begun")
	case after.ClosesAt.UnixMilli() < s.ClosesAt.UnixMilli():
		return Refusef(Conflicting,
			"until must not be earlier than the end of the call, %s", s.ClosesAt.UTC().Format(time.RFC3339))
	case after.ClosesAt.UnixMilli() > after.EndsAt.UnixMilli():
		return Refuse(Conflicting, "until must not be later than closesAt")
	case s.OpenCall && after.ClosesAt.UnixMilli() < after.EndsAt.UnixMilli():
		return Refuse(Conflicting, "until must be closesAt: the call is for anybody, until the end of the sale")
	}
	return nil
}

// applyToDraw reschedules a sale with a draw. A later end of the sale moves that of a call
// along which would have lasted longer but for the end of the sale.
func (e *Edit) applyToDraw(s *Sale) {
	before := s.EndsAt
	s.EndsAt = e.ClosesAt
	switch {
	case s.Call == 0:
		s.BeginsAt, s.OpensAt, s.ClosesAt = e.OpensAt, e.OpensAt, e.ClosesAt
	case !e.Until.IsZero():
		s.ClosesAt = e.Until
	case s.OpenCall:
		s.ClosesAt = s.EndsAt
	case !s.ClosesAt.Before(before):
		s.ClosesAt = s.CallUntil(s.OpensAt)
	}
}
