package sale

import (
	"cmp"
	"fmt"
	"time"
	"unicode/utf8"

	"flashsale/shared/currency"
)

const (
	// MaxStock is the most units of one seeding. It keeps every sum far from
	// the limits of a 64-bit integer.
	MaxStock = 1_000_000_000
	// MaxShards is the largest number of stock shards of one sale. A set of that
	// many shard numbers stays within the 4 KiB that one read unit covers, and the texts
	// that buyers see within another one.
	MaxShards = 1000
	// MaxName is the longest sale name, in characters.
	MaxName = 200
	// MaxOrdersPerSecond is the highest rate a sale may be planned for.
	MaxOrdersPerSecond = OrdersPerShard * MaxShards
	// MaxGroup is the most sales of one limit group: the group's page shows them all.
	MaxGroup = 30
	// MaxAhead is how far in the future an edit's instant may be: more than clocks
	// differ, but not so much that later edits are blocked for long.
	MaxAhead = time.Minute
)

// Creation asks for a new sale.
type Creation struct {
	SaleID            string
	Name              string
	OpensAt, ClosesAt time.Time
	Stock             int64
	// Shards is explicit, or 0 to derive it from OrdersPerSecond; if that is 0
	// too, DefaultOrdersPerSecond applies.
	Shards          int
	OrdersPerSecond int64
	// MaxStock is the most units that may be in the sale, sold ones included; 0 is no limit.
	MaxStock int64
	// PayWithin is how long after its order id a buyer may pay, in whole seconds; 0 asks
	// for no payment.
	PayWithin time.Duration
	// Price, in minor units, and Currency are what a payment must be of; 0 and "" are any.
	Price    int64
	Currency string
	Labels   Labels
	Presentation
	// LimitGroup is the sale's, see Sale.
	LimitGroup string
	// DrawTerms are of a sale with a draw, in which OpensAt and ClosesAt are BeginsAt and
	// EndsAt.
	DrawTerms
}

// Check validates the creation and fills in its shards and name.
func (c *Creation) Check() error {
	if c.Name == "" {
		c.Name = c.SaleID
	}
	switch {
	case !ValidID(c.SaleID):
		return RefuseID("saleId")
	case c.LimitGroup != "" && !ValidID(c.LimitGroup):
		return RefuseID("limitGroup")
	case !validText(c.Name, MaxName):
		return errName
	case c.Stock < 1 || c.Stock > MaxStock:
		return Refusef(InvalidRequest, "stock must be 1 to %d", MaxStock)
	case c.MaxStock != 0 && (c.MaxStock < c.Stock || c.MaxStock > MaxStock):
		return Refuse(InvalidRequest, fmt.Sprintf("maxStock must be at least the stock, and at most %d", MaxStock))
	case c.Shards != 0 && c.OrdersPerSecond != 0:
		return Refuse(InvalidRequest, "give shards or ordersPerSecond, not both")
	case c.Shards < 0 || int64(c.Shards) > min(c.Stock, MaxShards):
		return Refuse(InvalidRequest, fmt.Sprintf("shards must be 1 to %d, and not more than the stock", MaxShards))
	case c.OrdersPerSecond < 0 || c.OrdersPerSecond > MaxOrdersPerSecond:
		return Refuse(InvalidRequest, fmt.Sprintf("ordersPerSecond must be 1 to %d", MaxOrdersPerSecond))
	}
	if err := cmp.Or(c.checkPayment(), c.check(), c.checkDraw(), c.Labels.check()); err != nil {
		return err
	}
	if c.Shards == 0 {
		rate := c.OrdersPerSecond
		if rate == 0 {
			rate = DefaultOrdersPerSecond
		}
		c.Shards = ShardsFor(rate, c.Stock)
	}
	return checkWindow(c.OpensAt, c.ClosesAt)
}

func (c *Creation) checkPayment() error {
	switch {
	case c.PayWithin != 0 && (c.PayWithin < MinPayWithin || c.PayWithin > MaxPayWithin || c.PayWithin%time.Second != 0):
		return Refuse(InvalidRequest, fmt.Sprintf("payWithin must be 0 or %d to %d seconds",
			MinPayWithin/time.Second, MaxPayWithin/time.Second))
	case (c.Price != 0) != (c.Currency != ""):
		return Refuse(InvalidRequest, "give both price and currency, or neither")
	case c.Price < 0 || c.Price > MaxPrice:
		return Refuse(InvalidRequest, fmt.Sprintf("price must be 1 to %d minor units", MaxPrice))
	case c.Currency != "" && !validCurrency(c.Currency):
		return Refuse(InvalidRequest, "currency must be three capital letters such as EUR")
	}
	return nil
}

// CheckNew validates what only a creation that is not stored yet must satisfy.
func (c *Creation) CheckNew() error {
	if (c.PayWithin != 0) != (c.Price != 0) {
		return Refuse(InvalidRequest, "give payWithin, price and currency together, or none of them: "+
			"without a price any amount pays, and without payWithin no buyer is asked to pay")
	}
	if _, known := currency.Digits(c.Currency); !known && c.Currency != "" {
		return Refusef(InvalidRequest, "currency must be one that ISO 4217 lists with a minor unit, by its list of %s", currency.Published)
	}
	return nil
}

// CheckStripe refuses a price that Stripe cannot charge, if payments are Stripe's.
func (c *Creation) CheckStripe(theirs bool) error {
	if step := currency.StripeStep(c.Currency); theirs && c.Price%step != 0 {
		return Refusef(InvalidRequest, "price must be a multiple of %d minor units: Stripe charges no smaller part of %s", step, c.Currency)
	}
	return nil
}

// Addition asks for more units in an existing sale, once per seed id, which is the id of the
// change.
type Addition struct {
	SaleID string
	SeedID string
	Stock  int64
	Author
	Seen *Seen // as in Edit
}

// Check validates the addition.
func (a *Addition) Check() error {
	switch {
	case !ValidID(a.SaleID):
		return RefuseID("saleId")
	case !ValidID(a.SeedID):
		return RefuseID("seedId")
	case a.Stock < 1 || a.Stock > MaxStock:
		return Refusef(InvalidRequest, "stock must be 1 to %d", MaxStock)
	}
	return a.Author.Check()
}

// Withdrawal asks to take unsold units out of an existing sale, once per seed id, which is the
// id of the change.
type Withdrawal struct {
	SaleID string
	SeedID string
	Stock  int64 // most units to take
	Author
	Seen *Seen // as in Edit
}

// Check validates the withdrawal.
func (w *Withdrawal) Check() error {
	a := Addition(*w)
	return a.Check()
}

// Edit asks for a change of an existing sale's pause flag or window. Edits are
// ordered by their instants.
type Edit struct {
	SaleID string
	// ChangeID is the edit's id: with the same one it is applied once. "" lets the ledger
	// make one.
	ChangeID string
	Author
	// Seen is what the author had seen; nil makes the edit, whatever there was since. But a
	// resumption with nil leaves a person's pause as it is.
	Seen *Seen
	// At is the edit's instant: an edit that is older than the newest one changes
	// nothing. Zero means that the edit applies in any case, as the newest one.
	At time.Time
	// Paused is the new pause flag, or nil to keep it.
	Paused *bool
	// OpensAt and ClosesAt are the new window, or both zero to keep it. In a sale with a draw
	// they are the new BeginsAt and EndsAt, and Until may be a later end of the newest call.
	OpensAt, ClosesAt time.Time
	Until             time.Time
	// DrawLead is the lead of Creation.CheckDraw, for a rescheduling before the first call.
	DrawLead time.Duration
}

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
	}
	if !e.Until.IsZero() && (!e.Reschedules() || !inRange(e.Until)) {
		return Refuse(InvalidRequest, "until is out of range")
	}
	return cmp.Or(checkChangeID(e.ChangeID), e.Author.Check())
}

// Change returns what the edit asks for.
func (e *Edit) Change() Change {
	c := Change{ID: e.ChangeID, Action: ActionReschedule, At: e.At, Author: e.Author, OpensAt: e.OpensAt, ClosesAt: e.ClosesAt, Until: e.Until}
	switch {
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

// MayFollowRecall reports whether the edit may be applied to a recalled sale: it does not
// let the sale sell again.
func (e *Edit) MayFollowRecall() bool { return e.Paused != nil && *e.Paused && !e.Reschedules() }

// Apply returns the sale after the edit at the instant at.
func (e *Edit) Apply(s Sale, at time.Time) Sale {
	s.ChangedAt = at
	if e.Paused != nil {
		s.Paused = *e.Paused
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
	if e.Paused != nil && s.Paused != *e.Paused {
		return false
	}
	// A call may have begun since, and then it ends later than the one that Until is of.
	return !e.Reschedules() ||
		s.Begins().UnixMilli() == e.OpensAt.UnixMilli() && s.Ends().UnixMilli() == e.ClosesAt.UnixMilli() &&
			(e.Until.IsZero() || s.ClosesAt.UnixMilli() >= e.Until.UnixMilli())
}

// Recall asks to recall a sale: it never sells again, its unpaid orders are released, and
// the payments of its paid ones go back. Its note stays with the sale.
type Recall struct {
	SaleID   string
	ChangeID string // as in Edit
	Author
}

// Check validates the recall.
func (r *Recall) Check() error {
	if !ValidID(r.SaleID) {
		return RefuseID("saleId")
	}
	return cmp.Or(checkChangeID(r.ChangeID), r.Author.Check())
}

// Change returns what the recall asks for.
func (r *Recall) Change() Change {
	return Change{ID: r.ChangeID, Action: ActionRecall, Author: r.Author}
}

func checkWindow(opensAt, closesAt time.Time) error {
	switch {
	case !inRange(opensAt) || !inRange(closesAt):
		return Refuse(InvalidRequest, "opensAt and closesAt are needed, between 2000 and 2100")
	case opensAt.UnixMilli() >= closesAt.UnixMilli():
		return Refuse(InvalidRequest, "closesAt must be after opensAt")
	}
	return nil
}

// inRange reports whether the instant's Unix milliseconds are exact and positive.
func inRange(t time.Time) bool { return t.Year() >= 2000 && t.Year() < 2100 }

var errName = Refuse(InvalidRequest, fmt.Sprintf("name must be at most %d printable characters", MaxName))

// validText reports whether s is printable text of at most that many characters.
func validText(s string, most int) bool {
	if utf8.RuneCountInString(s) > most || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !printable(r) {
			return false
		}
	}
	return true
}
