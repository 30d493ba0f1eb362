package sale

import (
	"time"
)

const (
	// MaxDrawShards is the largest number of stock shards of a sale with a draw: each call
	// edits and reads them all before anybody may buy.
	MaxDrawShards = 100
	// MaxKeepFor is the longest time for which a unit is kept for a person who is called.
	MaxKeepFor = 7 * 24 * time.Hour
)

// DrawTerms are what a creation asks of a draw. The zero value asks for none.
type DrawTerms struct {
	// EnterFrom and EnterUntil are the first instant at which people may enter, and the first
	// one at which they may no more.
	EnterFrom, EnterUntil time.Time
	// KeepFor is how long a unit is kept for a person who is called, in whole hours.
	KeepFor time.Duration
}

// Draw is a sale's draw: its terms, which never change, and how far its calls have come. The
// zero value is that of a sale without one.
//
// In a sale with a draw OpensAt and ClosesAt are the window of the running call, or of the last
// one; before the first call they are BeginsAt and EndsAt.
type Draw struct {
	DrawTerms
	// BeginsAt is the earliest instant of the first call, and EndsAt is the end of everything.
	BeginsAt, EndsAt time.Time
	// Call is the number of the newest call, 0 before the first. OpenCall: everybody has been
	// called, so the newest call is for anybody.
	Call     int64
	OpenCall bool
	// OperatedAt orders the edits of operators and schedules among each other, because a call
	// is an edit, too: a scheduled pause must not lose to a call that began before it arrived.
	OperatedAt time.Time
}

// HasDraw reports whether a draw decides who may buy.
func (d *DrawTerms) HasDraw() bool { return d.KeepFor != 0 }

func (c *Creation) checkDraw() error {
	if c.DrawTerms == (DrawTerms{}) {
		return nil
	}
	switch {
	case c.KeepFor < time.Hour || c.KeepFor > MaxKeepFor || c.KeepFor%time.Hour != 0:
		return Refusef(InvalidRequest,
			"keepHours must be 1 to %d, and comes with enterFrom and enterUntil", MaxKeepFor/time.Hour)
	case !inRange(c.EnterFrom) || !inRange(c.EnterUntil):
		return Refuse(InvalidRequest, "enterFrom and enterUntil are needed, between 2000 and 2100")
	case c.EnterFrom.UnixMilli() >= c.EnterUntil.UnixMilli():
		return Refuse(InvalidRequest, "enterUntil must be after enterFrom")
	case c.Shards > MaxDrawShards || c.OrdersPerSecond > MaxDrawShards*OrdersPerShard:
		return Refusef(InvalidRequest, "a sale with a draw has at most %d shards, which are planned for %d ordersPerSecond",
			MaxDrawShards, MaxDrawShards*OrdersPerShard)
	}
	return c.CheckDraw(0)
}

// CheckDraw refuses a sale that opens earlier than lead after nobody may enter any more: the
// time that the roll, the dice and the first call need.
func (c *Creation) CheckDraw(lead time.Duration) error {
	if !c.HasDraw() || !c.OpensAt.Before(c.EnterUntil.Add(lead)) {
		return nil
	}
	return refuseTooEarly(InvalidRequest, lead)
}

func refuseTooEarly(code Code, lead time.Duration) error {
	return Refusef(code,
		"opensAt must be at least %d seconds after enterUntil: the roll, the dice and the first call need that time",
		lead/time.Second)
}

// Begins returns the first instant at which anybody may be able to buy.
func (s *Sale) Begins() time.Time {
	if s.HasDraw() {
		return s.BeginsAt
	}
	return s.OpensAt
}

// Ends returns the first instant at which nobody can buy any more.
func (s *Sale) Ends() time.Time {
	if s.HasDraw() {
		return s.EndsAt
	}
	return s.ClosesAt
}

// refusalByDraw is Refusal in a sale with a draw, which is neither a draft nor recalled. Whether
// a user is called is another question: during a call it returns nil.
func (s *Sale) refusalByDraw(now time.Time) *Error {
	switch until := s.OpensAt.Sub(now); {
	case !now.Before(s.EndsAt):
		return Refuse(Closed, "the sale is closed")
	case s.Call == 0 && until <= 0: // the draw function looks once a minute
		return &Error{Code: NotOpen, Detail: "nobody has been called yet", RetryAfter: time.Minute}
	case s.Call <= 1 && until > 0:
		return &Error{Code: NotOpen, Detail: "the sale has not opened yet", RetryAfter: until}
	case s.Paused:
		return Refuse(Paused, "the sale is paused")
	case until > 0:
		return &Error{Code: NotYourTurn, Detail: "the next call has not begun", RetryAfter: until}
	case !now.Before(s.ClosesAt):
		return Refuse(NotYourTurn, "the last call is over; if units are left, there will be another one")
	}
	return nil
}

// EnteringRefusal returns why nobody may enter at now, or nil.
func (s *Sale) EnteringRefusal(now time.Time) *Error {
	switch {
	case !s.HasDraw():
		return RefuseNoDraw()
	case s.IsRecalled():
		return RefuseRecalled()
	case now.Before(s.EnterFrom):
		return &Error{Code: EnteringNotOpen, Detail: "nobody can enter yet", RetryAfter: s.EnterFrom.Sub(now)}
	case !now.Before(s.EnterUntil):
		return Refuse(EnteringClosed, "nobody can enter any more")
	}
	return nil
}

// RefuseNoDraw returns the refusal of what only a sale with a draw does.
func RefuseNoDraw() *Error { return Refuse(DrawNotFound, "the sale has no draw") }

// CallUntil returns the end of a call that begins at from and is not for anybody.
func (s *Sale) CallUntil(from time.Time) time.Time {
	if until := from.Add(s.KeepFor); until.Before(s.EndsAt) {
		return until
	}
	return s.EndsAt
}
