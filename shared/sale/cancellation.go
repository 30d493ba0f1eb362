package sale

import (
	"cmp"
	"time"
)

// Unit is what becomes of the unit of an order that an operator cancels.
type Unit string

const (
	UnitBack Unit = "back" // it is in stock again
	UnitKept Unit = "kept" // nobody buys it again, as if it were sold
)

// Cancellation asks to cancel one order, of whichever sale: unpaid, it is released; paid, its
// payment goes back. An order is cancelled once, permanently. Its buyer cannot order again.
type Cancellation struct {
	SaleID   string
	OrderID  uint64
	ChangeID string // as in Edit
	Author
	// Expected is the state in which the author has seen the order, Confirmed or Paid: one that was paid
	// since is not cancelled unasked.
	Expected ClaimState
	Unit     Unit
}

// Check validates the cancellation.
func (c *Cancellation) Check() error {
	switch {
	case !ValidID(c.SaleID):
		return RefuseID("saleId")
	case c.OrderID == 0:
		return Refuse(InvalidRequest, "orderId must be the number of an order")
	case c.Expected != Confirmed && c.Expected != Paid:
		return Refuse(InvalidRequest, "expected must be the state in which you have read the order, CONFIRMED or PAID")
	case c.Unit != UnitBack && c.Unit != UnitKept:
		return Refuse(InvalidRequest, "unit must be back or kept")
	}
	return cmp.Or(checkChangeID(c.ChangeID), c.Author.Check())
}

// Entry is what is stored of the cancellation, made at that instant.
func (c *Cancellation) Entry(at time.Time) CancelledOrder {
	return CancelledOrder{OrderID: c.OrderID, ID: c.ChangeID, At: at, Author: c.Author, Expected: c.Expected, Unit: c.Unit}
}

// CancelledOrder says who has cancelled an order, when and why. It is no change of the sale, so it is
// not in its trail.
type CancelledOrder struct {
	OrderID uint64
	ID      string // the cancellation's
	At      time.Time
	Author
	Expected ClaimState
	Unit     Unit
}

// Asks reports whether c asks for the cancellation that was made under the same id.
func (c *Cancellation) Asks(made CancelledOrder) bool {
	return c.Expected == made.Expected && c.Unit == made.Unit
}

// RefuseCancelled returns the refusal of cancelling an order that somebody else has cancelled.
func RefuseCancelled(by CancelledOrder, held *Claim) *Error {
	c := Change{Author: by.Author, At: by.At}
	e := Refusef(ChangedMeanwhile, "the order was cancelled by %s on %s%s", c.say()[1:]...)
	e.Claim = held
	return e
}

// RefuseState returns the refusal of cancelling an order that is not as its author has seen it.
func RefuseState(now ClaimState, held *Claim) *Error {
	e := Refusef(ChangedMeanwhile, "the order is %s now; look at it again", string(now))
	e.Claim = held
	return e
}
