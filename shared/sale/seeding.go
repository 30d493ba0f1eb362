package sale

import (
	"cmp"
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
	// MaxPerOrder is the most units of one order that a sale may allow. With the claim and a guard, as many shards
	// as that are in one transaction.
	MaxPerOrder = 8
	// MaxGroup is the most sales of one limit group: the group's page shows them all.
	MaxGroup = 30
)

// Created is the action of an operator's creation, which only a trail has: no event tells it.
const Created = "create"

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
	// LateFor is the sale's, see Sale: 0 to MaxLateFor, in whole days.
	LateFor time.Duration
	// Price, in minor units, and Currency are what a payment must be of; 0 and "" are any.
	Price    int64
	Currency string
	// Extras is the sale's, see Sale.
	Extras bool
	// MaxPerOrder is the most units of one order: 1 to MaxPerOrder; 0 means one.
	MaxPerOrder int
	Labels      Labels
	Presentation
	// LimitGroup is the sale's, see Sale.
	LimitGroup string
	// ChangeID names the creation in the sale's trail, with its author; "" leaves it out.
	ChangeID string
	Author
	// DrawTerms are of a sale with a draw, in which OpensAt and ClosesAt are BeginsAt and
	// EndsAt.
	DrawTerms
}

// Check validates the creation and fills in its shards and name. A MaxPerOrder of 1 becomes 0, as a sale has it.
func (c *Creation) Check() error {
	if c.Name == "" {
		c.Name = c.SaleID
	}
	if c.MaxPerOrder == 1 {
		c.MaxPerOrder = 0
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
		return Refusef(InvalidRequest, "maxStock must be at least the stock, and at most %d", MaxStock)
	case c.Shards != 0 && c.OrdersPerSecond != 0:
		return Refuse(InvalidRequest, "give shards or ordersPerSecond, not both")
	case c.Shards < 0 || int64(c.Shards) > min(c.Stock, MaxShards):
		return Refusef(InvalidRequest, "shards must be 1 to %d, and not more than the stock", MaxShards)
	case c.MaxPerOrder < 0 || c.MaxPerOrder > MaxPerOrder:
		return Refusef(InvalidRequest, "maxPerOrder must be 1 to %d", MaxPerOrder)
	case c.MaxPerOrder != 0 && c.DrawTerms != (DrawTerms{}):
		return Refuse(InvalidRequest, "a sale with a draw has no maxPerOrder: each person who is called may order one unit")
	case c.OrdersPerSecond < 0 || c.OrdersPerSecond > MaxOrdersPerSecond:
		return Refusef(InvalidRequest, "ordersPerSecond must be 1 to %d", MaxOrdersPerSecond)
	}
	if err := cmp.Or(
		c.checkPayment(), c.check(), c.checkDraw(), c.Labels.check(), checkChangeID(c.ChangeID), c.Author.Check(),
	); err != nil {
		return err
	}
	if c.Shards == 0 {
		rate := c.OrdersPerSecond
		if rate == 0 {
			rate = DefaultOrdersPerSecond
		}
		// Shards are planned for orders: an order of more units than its shard has is sold by several at once.
		c.Shards = ShardsFor(rate, c.Stock/int64(max(1, c.MaxPerOrder)))
	}
	return checkWindow(c.OpensAt, c.ClosesAt)
}

func (c *Creation) checkPayment() error {
	switch {
	case c.PayWithin != 0 && (c.PayWithin < MinPayWithin || c.PayWithin > MaxPayWithin || c.PayWithin%time.Second != 0):
		return Refusef(InvalidRequest,
			"payWithin must be 0 or %d to %d seconds", MinPayWithin/time.Second, MaxPayWithin/time.Second)
	case c.LateFor < 0 || c.LateFor > MaxLateFor || c.LateFor%day != 0:
		return Refusef(InvalidRequest, "lateDays must be 0 to %d", MaxLateFor/day)
	case c.LateFor != 0 && c.PayWithin == 0:
		return Refuse(InvalidRequest, "lateDays is of a sale with payWithin")
	case c.LateFor != 0 && c.DrawTerms != (DrawTerms{}):
		return Refuse(InvalidRequest, "a sale with a draw has no lateDays: what is not paid in time serves the next call")
	case c.Extras && c.Price == 0:
		return Refuse(InvalidRequest, "extras is of a sale with a price")
	case (c.Price != 0) != (c.Currency != ""):
		return Refuse(InvalidRequest, "give both price and currency, or neither")
	case c.Price < 0 || c.Price > MaxPrice:
		return Refusef(InvalidRequest, "price must be 1 to %d minor units", MaxPrice)
	case c.MaxPerOrder != 0 && c.Price > MaxPrice/int64(c.MaxPerOrder):
		return Refusef(InvalidRequest, "price must be at most %d minor units for an order of %d",
			MaxPrice/int64(c.MaxPerOrder), c.MaxPerOrder)
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
		return Refusef(InvalidRequest,
			"currency must be one that ISO 4217 lists with a minor unit, by its list of %s", currency.Published)
	}
	return nil
}

// CheckStripe refuses a price that Stripe cannot charge, if payments are Stripe's.
func (c *Creation) CheckStripe(theirs bool) error {
	if step := currency.StripeStep(c.Currency); theirs && c.Price%step != 0 {
		return Refusef(InvalidRequest,
			"price must be a multiple of %d minor units: Stripe charges no smaller part of %s", step, c.Currency)
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
	ReadVersion *ReadVersion // as in Edit
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
	ReadVersion *ReadVersion // as in Edit
}

// Check validates the withdrawal.
func (w *Withdrawal) Check() error {
	a := Addition(*w)
	return a.Check()
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

var errName = Refusef(InvalidRequest, "name must be at most %d printable characters", MaxName)

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
