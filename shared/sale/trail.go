package sale

import (
	"strings"
	"time"
)

const (
	// MaxNote is the longest note on a change, in characters.
	MaxNote = 500
	// MaxActor is the longest name of an actor, in characters.
	MaxActor = 256
)

// Author is who asked for a change of a sale, and why.
type Author struct {
	// Actor is the subject of a verified token, or who the caller says; "" if nobody said.
	Actor string
	// Verified: API Gateway verified the token that names the actor.
	Verified bool
	Note     string // for the operators, or ""
}

// Check validates the author.
func (a *Author) Check() error {
	switch {
	case !validText(a.Actor, MaxActor) || a.Actor != strings.TrimSpace(a.Actor):
		return Refusef(InvalidRequest, "actor must be at most %d printable characters, without a blank around them", MaxActor)
	case !validText(a.Note, MaxNote):
		return Refusef(InvalidRequest, "note must be at most %d printable characters", MaxNote)
	}
	return nil
}

// checkChangeID refuses the id of a change, unless it is "", which lets the ledger make one.
func checkChangeID(id string) error {
	if id != "" && !ValidID(id) {
		return RefuseID("changeId")
	}
	return nil
}

// Action is what a change does to a sale.
type Action string

const (
	ActionPause      Action = "pause"
	ActionResume     Action = "resume"
	ActionReschedule Action = "reschedule"
	// ActionExtend gives more time to pay for all orders that are not paid.
	ActionExtend   Action = "extend"
	ActionDescribe Action = "describe"
	ActionRecall   Action = "recall"
	// ActionCall: the draw function has begun a call.
	ActionCall     Action = "call"
	ActionAdd      Action = "add"
	ActionWithdraw Action = "withdraw"
)

// Change is an entry of a sale's trail (P32): an edit, an addition or a withdrawal.
type Change struct {
	// Number counts the edits of the sale from 1; it is 0 in an addition, a withdrawal or a creation.
	Number int64
	ID     string // of an addition or a withdrawal, its seed id
	Action Action
	// At is the edit's instant, or when an addition or a withdrawal began.
	At time.Time
	Author
	// Paused and the window are those of the sale after a pause, a resumption, a
	// rescheduling, an extension, a recall or a call.
	Paused            bool
	OpensAt, ClosesAt time.Time
	// OperatedAt, BeginsAt and EndsAt are those of a sale with a draw after a pause, a
	// resumption, a rescheduling or an extension. In what is asked for, Until may be the end of the call.
	OperatedAt       time.Time
	BeginsAt, EndsAt time.Time
	Until            time.Time
	// PayUntil is the sale's after an extension.
	PayUntil time.Time
	Units    int64 // that an addition, a withdrawal or a creation asks for
	// Name, Image, About and Link are what a description gives, nil what it keeps.
	Name, Image, About, Link *string
}

// Window returns the window that the change has left: of a call its own, of another change the
// one that people are shown.
func (c *Change) Window() (opensAt, closesAt time.Time) {
	if !c.BeginsAt.IsZero() {
		return c.BeginsAt, c.EndsAt
	}
	return c.OpensAt, c.ClosesAt
}

// Asks reports whether c asks for the change that was made under the same id: for the same
// action with the same arguments, whoever asks and with whatever note.
func (c *Change) Asks(made Change) bool {
	same := func(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
	at, opensAt, closesAt := made.At, made.OpensAt, made.ClosesAt
	if !made.OperatedAt.IsZero() {
		at, opensAt, closesAt = made.OperatedAt, made.BeginsAt, made.EndsAt
	}
	return c.Action == made.Action &&
		(c.At.IsZero() || c.At.UnixMilli() == at.UnixMilli()) &&
		(c.Action != ActionReschedule ||
			c.OpensAt.UnixMilli() == opensAt.UnixMilli() && c.ClosesAt.UnixMilli() == closesAt.UnixMilli()) &&
		(c.Until.IsZero() || c.Until.UnixMilli() == made.ClosesAt.UnixMilli()) &&
		c.PayUntil.UnixMilli() == made.PayUntil.UnixMilli() &&
		same(c.Name, made.Name) && same(c.Image, made.Image) && same(c.About, made.About) && same(c.Link, made.Link)
}
