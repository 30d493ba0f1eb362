package sale

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

const (
	// MaxAccountRefunds is how many refunds an account knows by their ids, and MaxAccountDisputes how many disputes.
	// WeChat Pay, which reports no total, makes at most 50 of one payment (pay.weixin.qq.com, "Submit Refund API",
	// read on 2026-11-29).
	MaxAccountRefunds  = 50
	MaxAccountDisputes = 20
)

// Account is what is known of the money of one payment that went back, did not, or is disputed. It is made of the
// reports alone, and is the same whatever the order they are taken in and however often.
type Account struct {
	Payment string // the payment's id
	// V grows with each change, and is at least the Unix milliseconds of the last one: an account that a restore has made
	// older, or has lost, does not give a version again that its claim or refund has kept.
	V int64
	// IsKnown: the payment was recorded, and SaleID and OrderID are its order's, "" and 0 if it has none. The account of
	// a payment that is not known expires.
	IsKnown  bool
	SaleID   string
	OrderID  uint64
	Refunds  map[string]AccountRefund // by the provider's id
	Total    AccountTotal
	Disputes map[string]AccountDispute // by the provider's id
	// Other counts the reports of refunds and disputes beyond the most that an account knows. Nothing else follows from
	// them: a repeat of one cannot be told from another one.
	Other int64
}

// AccountRefund is one refund.
type AccountRefund struct {
	State    RefundState
	Amount   int64 // in minor units
	Currency string
	Whole    bool
	At       time.Time // the provider's first of the state; zero if it signs none
	// Heard is when each state was first heard.
	Heard map[RefundState]time.Time
}

// AccountTotal is all that went back, as the provider says. It is zero if none does.
type AccountTotal struct {
	Amount   int64 // in minor units
	Currency string
	Grows    bool
	At       time.Time // the provider's; zero if Grows
	Heard    time.Time // when the amount was first heard
}

// AccountDispute is one dispute.
type AccountDispute struct {
	State DisputeState
	Rank  int64
	// Heard is when each state was first heard.
	Heard map[DisputeState]time.Time
}

// Take adds a report, which must have passed Check, to the account of its payment, and reports whether that changed.
func (a *Account) Take(r MoneyReport, heard time.Time) bool {
	changed := false
	switch {
	case r.Refund != nil:
		changed = a.takeRefund(r, heard)
	case r.Total != nil:
		changed = a.takeTotal(r, heard)
	case r.Dispute != nil:
		changed = a.takeDispute(*r.Dispute, heard)
	}
	if changed {
		a.V = max(a.V+1, heard.UnixMilli())
	}
	return changed
}

func (a *Account) takeRefund(r MoneyReport, heard time.Time) bool {
	known, isKnown := a.Refunds[r.Refund.ID]
	if !isKnown && len(a.Refunds) >= MaxAccountRefunds {
		a.Other++
		return true
	}
	told := AccountRefund{
		State: r.Refund.State, Amount: r.Refund.Amount, Currency: r.Currency, Whole: r.Refund.Whole, At: r.At,
	}
	all, isNew := hear(known.Heard, told.State, heard)
	if isKnown && told.compare(known) <= 0 {
		told = known
	} else {
		isNew = true
	}
	if told.Heard = all; isNew {
		put(&a.Refunds, r.Refund.ID, told)
	}
	return isNew
}

func (a *Account) takeTotal(r MoneyReport, heard time.Time) bool {
	told := AccountTotal{Amount: r.Total.Amount, Currency: r.Currency, Grows: r.Total.Grows, At: r.At, Heard: heard}
	if told.Grows {
		told.At = time.Time{}
	}
	isNewer := cmp.Or(
		told.At.Compare(a.Total.At), cmp.Compare(told.Amount, a.Total.Amount), cmp.Compare(told.Currency, a.Total.Currency),
	) > 0
	if told.Amount == a.Total.Amount && told.Currency == a.Total.Currency {
		told.Heard = a.Total.Heard
	}
	if isNewer {
		a.Total = told
	}
	return isNewer
}

func (a *Account) takeDispute(told DisputeReport, heard time.Time) bool {
	known, isKnown := a.Disputes[told.ID]
	if !isKnown && len(a.Disputes) >= MaxAccountDisputes {
		a.Other++
		return true
	}
	all, isNew := hear(known.Heard, told.State, heard)
	newer := cmp.Or(cmp.Compare(told.Rank, known.Rank), told.State.compare(known.State))
	if isNew = isNew || newer > 0; newer > 0 || !isKnown {
		known.State, known.Rank = told.State, told.Rank
	}
	if known.Heard = all; isNew {
		put(&a.Disputes, told.ID, known)
	}
	return isNew
}

// hear returns the instants at which states were first heard with that of one more, and whether that is new.
func hear[S comparable](known map[S]time.Time, state S, at time.Time) (map[S]time.Time, bool) {
	if _, isKnown := known[state]; isKnown {
		return known, false
	}
	known = maps.Clone(known)
	put(&known, state, at)
	return known, true
}

func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// compare orders what is told of one refund: the higher state counts. Of one state providers tell one thing, first when
// it comes, and at Stripe again with each edit of the refund; or else what counts does not depend on the order of the
// reports.
func (f *AccountRefund) compare(g AccountRefund) int {
	return cmp.Or(
		cmp.Compare(slices.Index(refundStates, f.State), slices.Index(refundStates, g.State)),
		cmp.Compare(f.of(MaxPrice+1), g.of(MaxPrice+1)), cmp.Compare(f.Currency, g.Currency), g.At.Compare(f.At),
	)
}

// of is the refund's amount if that much was paid.
func (f *AccountRefund) of(paid int64) int64 {
	if f.Whole {
		return paid
	}
	return f.Amount
}

// Back returns how much of a payment of that amount and currency is back, and whether that is the whole. Ids and
// total tell of the same money, so the larger of both counts. What is of another currency does not.
//
// Stripe's total is of a charge event's instant, and a refund that fails later sends none, so a failure of that instant
// or later is taken off. A second is Stripe's grain: of one second it is taken to have failed after the total.
func (a *Account) Back(paid int64, currency string) (back int64, whole bool) {
	var byID, failed int64
	isDone := false
	for _, f := range a.Refunds {
		switch {
		case !f.Whole && f.Currency != currency:
		case f.State == RefundDone:
			byID, isDone = byID+f.of(paid), true
		case f.State == RefundFailed && !f.At.Before(a.Total.At):
			failed += f.of(paid)
		}
	}
	var total int64
	switch {
	case a.Total.Currency != currency:
	case a.Total.Grows:
		total = a.Total.Amount
	default:
		total = a.Total.Amount - failed
	}
	back = min(max(byID, total), paid)
	return back, back >= paid && (isDone || back > 0)
}

// Failures counts the refunds that have failed.
func (a *Account) Failures() int64 { return a.count(RefundFailed) }

func (a *Account) count(state RefundState) (n int64) {
	for _, f := range a.Refunds {
		if f.State == state {
			n++
		}
	}
	return n
}

// Disputed returns how the worst of the payment's disputes stands, "" if there is none.
func (a *Account) Disputed() (worst DisputeState) {
	for _, d := range a.Disputes {
		if d.State.compare(worst) > 0 {
			worst = d.State
		}
	}
	return worst
}
