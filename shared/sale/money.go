package sale

import "time"

// Returned is what was applied of a payment's account to its claim or its refund due.
type Returned struct {
	// MoneyVersion is the account's V; in the table it is money.
	MoneyVersion int64
	// Back is how much is back, in minor units.
	Back int64
	// Failures counts the refunds that have failed.
	Failures int64
	// Stuck: the provider waits for the merchant with a refund.
	Stuck bool
	// Disputed is how the worst dispute of the payment stands, "" if there is none.
	Disputed DisputeState
	// RefundedAt is when the whole was heard to be back, or when an operator said so; zero if it is not. A mark stays
	// until a refund fails that the claim or refund has not counted.
	RefundedAt time.Time
}

// Apply returns what follows from the account of a payment of that amount and currency, which must be newer. A mark is
// taken away only by a failure that r has not counted: not by a part, nor by a repeat.
func (r Returned) Apply(a Account, paid int64, currency string, now time.Time) Returned {
	back, whole := a.Back(paid, currency)
	after := Returned{
		MoneyVersion: a.V, Back: back, Failures: a.Failures(), Stuck: a.count(RefundStuck) > 0, Disputed: a.Disputed(),
		RefundedAt: r.RefundedAt,
	}
	switch {
	case whole && r.RefundedAt.IsZero():
		after.RefundedAt = now
	case !whole && after.Failures > r.Failures:
		after.RefundedAt = time.Time{}
	}
	return after
}

// IsDue reports whether a refund is to be sent: it is not done, and no dispute holds it back.
func (r Returned) IsDue() bool { return r.RefundedAt.IsZero() && !r.Disputed.HoldsBack() }

// IsHeldBack reports whether a refund is due as soon as a dispute is won.
func (r Returned) IsHeldBack() bool { return r.RefundedAt.IsZero() && r.Disputed == DisputeOpen }

// Money is what every reader says of an order's money. Amounts are in minor units.
type Money struct {
	Paid, Back int64
	Currency   string
	At         time.Time // since when the whole is back; zero if it is not
	State      MoneyState
}

// MoneyState is the most important thing to be said of an order's money.
type MoneyState string

const (
	MoneyNone     MoneyState = "none" // nothing went back
	MoneyPart     MoneyState = "part"
	MoneyWhole    MoneyState = "whole"
	MoneyFailed   MoneyState = "failed" // a refund has failed, and the whole is not back
	MoneyStuck    MoneyState = "stuck"  // the provider waits for the merchant
	MoneyDisputed MoneyState = "disputed"
	MoneyLost     MoneyState = "lost" // a dispute: the buyer has the money back from the provider
)

// MoneyOf returns an order's money from its claim and the refund due of the payment that paid it, nil for none.
func MoneyOf(c Claim, r *Refund) Money {
	m, known := Money{Paid: c.Amount, Currency: c.Currency}, c.Returned
	if r != nil && r.MoneyVersion >= c.MoneyVersion { // a mark is on the refund alone
		known = r.Returned
	}
	if r != nil && m.Currency == "" {
		m.Paid, m.Currency = r.Amount, r.Currency
	}
	m.Back, m.At = known.Back, known.RefundedAt
	if !m.At.IsZero() {
		m.Back = m.Paid
	}
	m.State = known.moneyState()
	return m
}

// Refunded is how much the buyer has back, also by a dispute that is lost.
func (m Money) Refunded() int64 {
	if m.State == MoneyLost {
		return m.Paid
	}
	return m.Back
}

func (r Returned) moneyState() MoneyState {
	switch {
	case r.Disputed == DisputeLost:
		return MoneyLost
	case r.Disputed == DisputeOpen:
		return MoneyDisputed
	case !r.RefundedAt.IsZero():
		return MoneyWhole
	case r.Stuck:
		return MoneyStuck
	case r.Failures > 0:
		return MoneyFailed
	case r.Back > 0:
		return MoneyPart
	}
	return MoneyNone
}

// RefundOf returns the refund due of the payment that paid an order, of the refunds of its claim; nil for none.
func RefundOf(c Claim, refunds []Refund) *Refund {
	for i := range refunds {
		if c.Payment != "" && refunds[i].Payment == c.Payment {
			return &refunds[i]
		}
	}
	return nil
}
