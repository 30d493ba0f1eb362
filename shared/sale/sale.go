package sale

import "time"

// State says how far seeding has come.
type State string

const (
	// Draft: the shards are still being written; buyers see no such sale.
	Draft State = "DRAFT"
	// Open: seeded; the window and the pause flag decide about purchases.
	Open State = "OPEN"
)

// ExtrasAllowed is what the setting extras says, in requests, sale files, answers and the table, of a sale with Extras.
const ExtrasAllowed = "allowed"

// Sale is one sale as stored in its item, without its stock.
type Sale struct {
	ID       string
	Name     string
	OpensAt  time.Time // first instant at which a purchase is admitted
	ClosesAt time.Time // first instant at which none is admitted any more
	Draw
	Paused bool
	// ChangedAt orders pauses, resumptions, reschedulings and calls: the latest wins.
	ChangedAt time.Time
	Seeded    int64 // units put into the sale, less those withdrawn
	Shards    int   // stock shards, 1…MaxShards
	Buckets   int   // claim buckets, fixed when the sale is made
	// Limited: the sale was created with a maxStock, so its item counts the room that
	// is left.
	Limited bool
	// Empty is the set of shards known to have no stock. It is always correct: adding
	// stock raises Version and removes the shard in one transaction.
	Empty Set
	// Version rises with every edit, restock and withdrawal.
	Version int64
	// Edits counts the entries of the trail that are edits, descriptions and the recall.
	Edits int64
	// Seedings counts the additions and withdrawals that were announced.
	Seedings int64
	// Cancelled counts the orders that an operator has cancelled.
	Cancelled int64
	State     State
	// PayWithin is how long after its order id a claim may remain unpaid; 0 if the sale
	// asks for no payment. It never changes.
	PayWithin time.Duration
	// LateFor is how long an unpaid order may stay after its payBy while nobody waits for its units, in
	// whole days; 0 for no time. See Late. It never changes.
	LateFor time.Duration
	// PayUntil is until when every unpaid order may be paid, whenever it was made, because an operator has given
	// more time; zero if none has. It only grows.
	PayUntil time.Time
	// RecalledAt is when the operator recalled the sale, zero if never, and RecallNote what
	// the operator wrote about it. Both are final: the sale never sells again, and each of
	// its orders is released or its payment goes back (P35).
	RecalledAt time.Time
	RecallNote string
	// SealedAt is when the sale was closed permanently, because what was ordered in it is erased or
	// archived; zero if never. Nothing changes a sealed sale any more.
	SealedAt time.Time
	// Erased counts the users who were erased from it.
	Erased int64
	// Archive is the digest of the archive that has the sale's claims and orders, "" if there is none, and
	// ArchivedKeys that of its keys. ArchivedAt is when the last of them was deleted; zero while some may be left.
	Archive, ArchivedKeys string
	ArchivedAt            time.Time
	// ArchivedUnits is how many units its claims had; 0 unless the sale has a MaxPerOrder and is archived.
	ArchivedUnits int64
	// MinReader is the version that a reader needs; 0 means that any will do. Only a recall, a
	// seal and an extension change it. See Reads.
	MinReader int
	// Price, of one unit and in minor units, and Currency are what a payment must be of; 0 and "" if any
	// payment will do. They never change. See PriceOf.
	Price    int64
	Currency string
	// Extras: a payment may have tax on top of the price, shipping and discounts, if its provider explains them. It
	// never changes.
	Extras bool
	// MaxPerOrder is the most units of one order, 2 to MaxPerOrder; 0 means one. It never changes.
	MaxPerOrder int
	Labels      Labels
	Presentation
	// LimitGroup is the id of the sales in only one of which a user may order; "" if the
	// sale limits only itself. It never changes.
	LimitGroup string
}

// Refusal returns why a purchase at now is refused regardless of stock, or nil. The
// checks are in the order in which a buyer sees their answers before, during and after
// a sale.
func (s *Sale) Refusal(now time.Time) *Error {
	switch {
	case s.State != Open:
		return Refuse(SaleNotFound, "no such sale")
	case s.IsRecalled():
		return RefuseRecalled()
	case s.HasDraw():
		return s.refusalByDraw(now)
	case now.Before(s.OpensAt):
		return &Error{Code: NotOpen, Detail: "the sale has not opened yet", RetryAfter: s.OpensAt.Sub(now)}
	case !now.Before(s.ClosesAt):
		return Refuse(Closed, "the sale is closed")
	case s.Paused:
		return Refuse(Paused, "the sale is paused")
	}
	return nil
}

// IsRecalled reports whether the sale was recalled.
func (s *Sale) IsRecalled() bool { return !s.RecalledAt.IsZero() }

// RefuseRecalled returns the refusal of whatever a recalled sale does no more.
func RefuseRecalled() *Error { return Refuse(Recalled, "the sale was recalled") }

// IsSealed reports whether the sale was sealed.
func (s *Sale) IsSealed() bool { return !s.SealedAt.IsZero() }

// RefuseSealed returns the refusal of whatever would change a sealed sale, or a group of them.
func RefuseSealed() *Error {
	return Refuse(Conflicting, "it is sealed: what was ordered in it is erased or archived, so it never sells again")
}

// RefuseArchived returns the refusal of whatever needs the claims of a sale that is archived.
func (s *Sale) RefuseArchived() *Error {
	if s.ArchivedAt.IsZero() {
		return Refusef(Conflicting, "the sale %s is being archived: digest %s", s.ID, s.Archive)
	}
	return Refusef(Conflicting,
		"the sale %s was archived on %s: digest %s", s.ID, s.ArchivedAt.UTC().Format(time.DateOnly), s.Archive)
}

// SoldOut reports whether every shard is known to be empty.
func (s *Sale) SoldOut() bool { return s.Empty.Len() >= s.Shards }

// AsksForPayment reports whether an order of the sale expires unless it is paid in time.
func (s *Sale) AsksForPayment() bool { return s.PayWithin > 0 }

// RefuseSoldOut returns the refusal of a purchase while every shard is empty.
func (s *Sale) RefuseSoldOut() *Error {
	return &Error{Code: SoldOut, Detail: "every unit has been sold", MayReturn: s.MayReturn()}
}

// RefuseNotEnough returns the refusal of a purchase of more units than the left ones.
func (s *Sale) RefuseNotEnough(left int64) *Error {
	return &Error{
		Code: NotEnough, Detail: "fewer units are left than were asked for", Left: left, MayReturn: s.MayReturn(),
	}
}

// MayReturn reports whether units that were sold may be in stock again before the sale
// closes, because their buyers did not pay or cancelled.
func (s *Sale) MayReturn() bool { return s.AsksForPayment() }

// Phase is the state of a sale as shown on the sale page.
type Phase string

const (
	PhaseNotOpen Phase = "NOT_OPEN"
	PhaseOpen    Phase = "OPEN"
	// PhaseWaiting: a call of a draw is over, and another one may follow.
	PhaseWaiting  Phase = "WAITING"
	PhasePaused   Phase = "PAUSED"
	PhaseSoldOut  Phase = "SOLD_OUT"
	PhaseClosed   Phase = "CLOSED"
	PhaseRecalled Phase = "RECALLED"
)

// Phase returns the sale's phase at now.
func (s *Sale) Phase(now time.Time) Phase {
	refusal := s.Refusal(now)
	switch {
	case (refusal == nil || refusal.Code == NotYourTurn) && s.SoldOut():
		return PhaseSoldOut
	case refusal == nil:
		return PhaseOpen
	case refusal.Code == NotOpen:
		return PhaseNotOpen
	case refusal.Code == NotYourTurn:
		return PhaseWaiting
	case refusal.Code == Paused:
		return PhasePaused
	case refusal.Code == Recalled:
		return PhaseRecalled
	}
	return PhaseClosed
}

// Claim is what one user has ordered in one sale, written by the transaction that took its units.
type Claim struct {
	SaleID     string
	User       string
	ID         string
	Shard      int // that sells it all its units, see table.Shard
	AcceptedAt time.Time
	// Units is how many it took, 2 to MaxPerOrder; 0 means one. See UnitCount.
	Units int64
	// RequestKey is the Idempotency-Key the claim was made with, or "".
	RequestKey string
	// ResentAt is when its order message was last resent; zero if never.
	ResentAt time.Time
	// OrderID is 0 until the claim is confirmed.
	OrderID uint64
	// PaidAt and Payment, provider#reference, are of a paid claim; ReleasedAt and
	// ReleasedBy of one that is not paid and whose units its buyer does not get. Both are final, and a
	// claim has one of them at most. Amount, in minor units, and Currency are what was paid.
	PaidAt     time.Time
	Payment    string
	Amount     int64
	Currency   string
	ReleasedAt time.Time
	ReleasedBy ReleasedBy
	// CancelledAt is when an operator cancelled an order that is paid: its payment goes back. Unit is
	// what became of the unit of any order that an operator has cancelled, "" of another one's.
	CancelledAt time.Time
	Unit        Unit
	// Returned is what is known of the payment's money; of a cancelled or recalled order, see its Refund.
	Returned
	// Refunds are the ids of this order's payments that are to be refunded, or were: the
	// first ones, if they are very many.
	Refunds []string
	// Labels are its sale's.
	Labels Labels
	// PaymentTerms are its sale's; a claim that was made before 0.10.0 does not say them.
	PaymentTerms PaymentTerms
	// Buckets is its sale's number of buckets, which its key depends on; 0 if unknown.
	Buckets int
	// MinReader is its sale's OrdersReader; it says nothing else about the claim.
	MinReader int
}

// ReleasedBy says why a claim was released.
type ReleasedBy string

const (
	ByExpiry   ReleasedBy = "expiry" // not paid in time
	ByBuyer    ReleasedBy = "buyer"
	ByOperator ReleasedBy = "operator" // its sale was recalled, or an operator cancelled it
)

// ClaimState is derived from the claim by State, never stored.
type ClaimState string

const (
	Pending   ClaimState = "PENDING"
	Confirmed ClaimState = "CONFIRMED" // has its order id
	Paid      ClaimState = "PAID"
	Expired   ClaimState = "EXPIRED"
	Cancelled ClaimState = "CANCELLED"
)

// State returns the claim's state. In any state but Pending it has an order id.
func (c *Claim) State() ClaimState {
	switch {
	case !c.ReleasedAt.IsZero() && c.ReleasedBy == ByExpiry:
		return Expired
	case c.Ended():
		return Cancelled
	case !c.PaidAt.IsZero():
		return Paid
	case c.OrderID != 0:
		return Confirmed
	}
	return Pending
}

// UnitCount is how many units the claim took, at least 1.
func (c *Claim) UnitCount() int64 { return max(1, c.Units) }

// Released reports whether the claim was released before it was paid.
func (c *Claim) Released() bool { return !c.ReleasedAt.IsZero() }

// Ended reports whether the buyer does not get the unit: the claim was released, or cancelled after it
// was paid.
func (c *Claim) Ended() bool { return c.Released() || !c.CancelledAt.IsZero() }

// MayBeReleased reports whether the claim may be released after it was read, if its sale
// asks for payment: it is neither paid nor released.
func (c *Claim) MayBeReleased() bool { return c.PaidAt.IsZero() && c.ReleasedAt.IsZero() }

// Order is a confirmed claim under its global id.
type Order struct {
	ID      uint64
	SaleID  string
	User    string
	ClaimID string
}
