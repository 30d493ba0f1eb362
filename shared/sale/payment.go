package sale

import (
	"strings"
	"time"

	"flashsale/shared/orderid"
)

const day = 24 * time.Hour

const (
	// MinPayWithin and MaxPayWithin bound the time that a sale leaves its buyers to pay.
	MinPayWithin = time.Minute
	MaxPayWithin = 7 * day
	// MaxLateFor is the longest time that an order may stay unpaid after its payBy.
	MaxLateFor = 7 * day
	// MaxPrice is the highest price, in minor units of its currency.
	MaxPrice = 1_000_000_000_000
	// MaxReference is the longest payment reference, in characters. At four bytes each
	// it stays within DynamoDB's 1,024 bytes for a sort key, its provider included.
	MaxReference = 200
)

// PaymentTerms are what a sale asks of the payment of an order.
type PaymentTerms struct {
	// Known is false of a claim that does not say them.
	Known bool
	// PayWithin is 0 if no payment is asked for, and the order is final.
	PayWithin time.Duration
	// Price, of one unit and in minor units, and Currency; 0 and "" if any payment will do.
	Price    int64
	Currency string
}

// PaymentTerms returns those of the sale, which never change.
func (s *Sale) PaymentTerms() PaymentTerms {
	return PaymentTerms{Known: true, PayWithin: s.PayWithin, Price: s.Price, Currency: s.Currency}
}

// PayBy returns the instant by which an order of the sale must be paid: FirstPayBy, or PayUntil if that
// is later. The sale must be as it is now.
func (s *Sale) PayBy(orderID uint64) time.Time {
	first := s.FirstPayBy(orderID)
	if !first.IsZero() && s.PayUntil.After(first) {
		return s.PayUntil
	}
	return first
}

// Late returns how long after its payBy an unpaid order is not released yet, besides the grace, at an instant at which
// that many units are left: LateFor as long as nobody waits for its units, because there are enough others for
// any order or nobody can buy any more, and otherwise nothing.
func (s *Sale) Late(left int64, now time.Time) time.Duration {
	if left >= int64(max(1, s.MaxPerOrder)) || !now.Before(s.Ends()) {
		return s.LateFor
	}
	return 0
}

// FirstPayBy is PayBy without the time that an operator may have given since: PayWithin after the order's id
// was reserved, so a slow queue takes no time from a buyer. It never changes, and is zero if the sale asks for no
// payment or the order has no id yet.
func (s *Sale) FirstPayBy(orderID uint64) time.Time {
	if s.PayWithin == 0 || orderID == 0 {
		return time.Time{}
	}
	return orderid.Time(orderID).Add(s.PayWithin)
}

// Payment is a payment that its provider has confirmed by a valid signature.
type Payment struct {
	Provider string
	// Reference is the provider's id of the payment, the same in every report of it.
	Reference string
	// SaleID is the sale that the payment names, or "".
	SaleID string
	// OrderID is the order that the payment names; 0 if it names no valid id.
	OrderID uint64
	// Stack is another stack that the payment names: without an order of this one it is none of ours. "" if it names
	// this stack, or none.
	Stack    string
	Amount   int64 // in minor units
	Currency string
	// Goods is what its provider says that the goods are of it, without tax on top, shipping and discounts, and before
	// a conversion into the buyer's currency, in minor units of GoodsCurrency; "" if the provider says nothing. A sale
	// with Extras compares it with its price.
	Goods         int64
	GoodsCurrency string
}

// PriceOf is what an order of so many units costs, in minor units; 0 if any payment will do. It is at most MaxPrice.
func (s *Sale) PriceOf(units int64) int64 { return s.Price * units }

// IsPrice reports whether a payment is of the price of an order of so many units; any is, if the sale has none.
func (s *Sale) IsPrice(p Payment, units int64) bool {
	if s.Extras && p.GoodsCurrency != "" {
		p.Amount, p.Currency = p.Goods, p.GoodsCurrency
	}
	return s.Price == 0 || p.Amount == s.PriceOf(units) && p.Currency == s.Currency
}

// ID identifies the payment among those of all providers. A provider has no '#' in its
// name, so the id is injective (P13).
func (p *Payment) ID() string { return p.Provider + "#" + p.Reference }

// CheckID validates what identifies the payment.
func (p *Payment) CheckID() error {
	switch {
	case !ValidID(p.Provider):
		return Refuse(InvalidRequest, "unknown provider")
	case p.Reference == "" || !validText(p.Reference, MaxReference) || p.Reference != strings.TrimSpace(p.Reference):
		return Refuse(InvalidRequest, "the payment has no valid reference")
	}
	return nil
}

// Check validates the payment.
func (p *Payment) Check() error {
	if err := p.CheckID(); err != nil {
		return err
	}
	switch {
	case p.Amount < 0 || p.Amount > MaxPrice:
		return Refuse(InvalidRequest, "the payment has no valid amount")
	case !validCurrency(p.Currency):
		return Refuse(InvalidRequest, "the payment has no valid currency")
	}
	return nil
}

// Refund is a payment that must go back to the buyer: one that is not its order's, or one
// of a cancelled order or of an order of a recalled sale.
type Refund struct {
	// SaleID is the sale of the payment's order; "" if the order is unknown.
	SaleID string
	// Payment is the payment's id: its provider and reference.
	Payment string
	OrderID uint64 // as the payment named it; 0 if it named none
	// User is the order's; "" if the order is unknown, or its sale archived.
	User     string
	Reason   RefundReason
	Amount   int64
	Currency string
	Labels   Labels // the sale's; "" like User
	At       time.Time
	// Again is when a failure, or an operator, has made it due again; zero if nothing has.
	Again time.Time
	// Returned says whether it is done. RefundedBy is the operator who said so, "" if it was the provider or nobody.
	Returned
	RefundedBy string
	// UnmarkedBy is the operator who has taken a wrong mark back, and UnmarkNote why; "" if nobody has.
	UnmarkedBy, UnmarkNote string
	Sent                   Sent
}

// RefundReason says why a payment goes back.
type RefundReason string

const (
	// RefundReleased: the claim was released before the payment was recorded.
	RefundReleased RefundReason = "released"
	// RefundOtherPayment: another payment has paid the order.
	RefundOtherPayment RefundReason = "other-payment"
	// RefundAmount: the sale has a price, and the payment is not of what its order's units cost, in that currency.
	RefundAmount RefundReason = "amount"
	// RefundRecalled: the payment has paid the order, and then the sale was recalled.
	RefundRecalled RefundReason = "recalled"
	// RefundCancelled: the payment has paid the order, and then an operator cancelled it.
	RefundCancelled RefundReason = "cancelled"
	// RefundUnknownOrder: there is no such order in that sale.
	RefundUnknownOrder RefundReason = "unknown-order"
)

// validCurrency reports whether s looks like an ISO 4217 code.
func validCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}
