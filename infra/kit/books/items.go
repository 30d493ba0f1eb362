package books

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// restoreLeap is by what a replay into a restored table raises a sale's version and edits.
const restoreLeap = 1_000_000

// saleItem is SALE#<sale>, SALE. All instants are Unix milliseconds. As in the other items, an attribute that is missing is zero.
type saleItem struct {
	presentation
	lasting
	drawn
	sealed
	edited
	Seeded                 int64
	Room                   int64 // -1 if additions are unlimited
	Shards, Buckets        int
	Empty                  map[int]bool
	State                  string
	Version, MinReader     int64
	Described              int64 // how often a description changed it
	Edits                  int64 // in the trail
	Seedings               int64 // additions and withdrawals
	Cancelled              int64 // orders, by an operator
	RecalledAt, RestoredAt int64
	PayUntil               int64 // of every unpaid order, because more time was given; 0 if none was
}

// edited is what an edit leaves: of the sale, and of each shard that it has reached.
type edited struct {
	OpensAt, ClosesAt, ChangedAt int64
	Paused                       bool
}

func (e edited) String() string {
	paused := "not paused"
	if e.Paused {
		paused = "paused"
	}
	return fmt.Sprintf("as of %s (%s, open %s to %s)", clock(e.ChangedAt), paused, clock(e.OpensAt), clock(e.ClosesAt))
}

// presentation is what buyers see of a sale.
type presentation struct{ Name, Image, About, Link string }

// lasting is what a sale's creation asked for and nothing changes.
type lasting struct {
	terms
	drawTerms
	Labels, LimitGroup string
	MaxPerOrder        int64 // units; 0 is one
}

// terms are what a sale asks of payments; zero if it asks for none.
type terms struct {
	PayWithin int64 // seconds
	LateDays  int64
	Price     int64
	Currency  string
	Extras    string // a payment may be more or less than the price
}

// drawTerms are what a sale's creation asks of a draw; zero if there is none.
type drawTerms struct{ EnterFrom, EnterUntil, KeepHours int64 }

// drawn is what a sale item says of its draw besides the terms. Call is 0 before the first one, and
// OperatedAt before the first edit by an operator or a schedule.
type drawn struct {
	BeginsAt, EndsAt, Call, OperatedAt int64
	OpenCall                           bool
}

// sealed is what a sale's item says of a sale that never sells again.
type sealed struct {
	SealedAt, Erased int64 // Erased is how many users were erased from it
	// Archive is the digest of the archive that has its claims and orders; ArchivedAt is 0 while some of them may be left.
	Archive                    string
	ArchivedClaims, ArchivedAt int64
	ArchivedUnits              int64 // of the claims, if one may have several
}

// hasDraw reports whether a draw decides who may buy.
func (l lasting) hasDraw() bool { return l.drawTerms != drawTerms{} }

func (l lasting) check(f *fields) {
	f.together("price", "currency")
	f.with("payWithin", "lateDays")
	f.with("price", "extras")
	f.failIf(l.hasDraw() && l.LateDays != 0, "lateDays is there, but a draw decides who may buy")
	f.failIf(l.hasDraw() && l.MaxPerOrder != 0, "maxPerOrder is there, but a draw decides who may buy")
	f.together("enterFrom", "enterUntil", "keepHours")
	f.failIf(l.hasDraw() && l.EnterFrom >= l.EnterUntil, "enterUntil is not after enterFrom")
}

// lasting is the sale's, or its creation's if the sale item is missing.
func (p *pass) lasting() lasting {
	if p.before.hasSale {
		return p.before.sale.lasting
	}
	return p.before.create.lasting
}

var readSale = reader("sale", func(f *fields, s *saleItem) {
	if !f.has("room") {
		s.Room = -1
	}
	s.check(f)
	f.together("enterFrom", "beginsAt", "endsAt")
	f.with("enterFrom", "call", "openCall", "operatedAt")
	f.with("recalledAt", "recallNote")
	f.with("payWithin", "payUntil")
	f.with("sealedAt", "erased", "archive")
	f.together("archive", "archivedKeys", "archivedClaims")
	f.with("archive", "archivedAt", "archivedUnits")
	f.with("maxPerOrder", "archivedUnits")
	f.window(s.OpensAt, s.ClosesAt)
	f.failIf(s.hasDraw() && s.BeginsAt >= s.EndsAt, "endsAt is not after beginsAt")
})

func (f *fields) window(opensAt, closesAt int64) {
	f.failIf(opensAt >= closesAt, "closesAt is not after opensAt")
}

// createItem is SALE#<sale>, CREATE.
type createItem struct {
	presentation
	lasting
	author
	ID                string
	At                int64
	OpensAt, ClosesAt int64
	Stock, MaxStock   int64
	Shards            int
}

var readCreate = reader("creation", func(f *fields, c *createItem) {
	c.check(f)
	f.failIf(f.has("id") != f.has("at") || !f.has("id") && c.author != author{}, "an author without an id, or an id without an instant")
	f.failIf(f.has("maxStock") && c.MaxStock < c.Stock, "maxStock is below stock")
	f.window(c.OpensAt, c.ClosesAt)
})

// author is who asked for a change, as far as it is stored, and why.
type author struct {
	Actor, Note string
	Verified    bool
}

// seedItem is SALE#<sale>, SEED#<seed>. The units of a withdrawal are negative.
type seedItem struct {
	author
	Units, At      int64
	Action, Labels string
}

var readSeed = reader("addition", func(f *fields, s *seedItem) {
	f.failIf(s.Units == 0, "units is 0")
	f.failIf((s.Action == "add") != (s.Units > 0), "action is not what its units say")
})

// receipt is SALE#<sale>, SEED#<seed>#<shard>: a shard's part of an addition.
type receipt struct {
	Seed      string
	Shard     int
	Units, At int64
}

var readReceipt = reader("receipt", func(*fields, *receipt) {})

// stepItem is SALE#<sale>, WITHDRAWN#<seed>#<step>: units taken from a shard, or the
// end of a withdrawal that found no more.
type stepItem struct {
	Seed      string
	Step      int
	Shard     int
	Units, At int64
	Ended     bool
}

var readStep = reader("step, end of a withdrawal", func(*fields, *stepItem) {})

// listingItem is SALES, <sale>.
type listingItem struct {
	ClosesAt, PayWithin int64
	Labels              string
	MinReader           int64
	RefundAt            int64 // 0 if there is no refund
	Recalling           int64 // the recall whose orders are not all finished
	SealedAt            int64
	Drained, Draw       bool
	noted, releasing    bool // it has a cursor, and how far a release came
}

var readListing = reader("listing", func(f *fields, l *listingItem) {
	l.noted, l.releasing = f.has("cursor"), f.has("releasing")
	f.with("payWithin", "nextDue")
})

// shardItem is STOCK#<sale>#<shard>, STOCK.
type shardItem struct {
	Shard int
	edited
	Stock, Seeded     int64
	Released, PutBack int64 // units
	Moved             int64 // units that other shards gave to it, less those that it gave
	counts            bool  // it has Released and PutBack
}

var readShard = reader("shard", func(f *fields, s *shardItem) {
	s.counts = f.has("released")
	f.together("released", "putBack")
})

// Claim is what one buyer holds of a sale: CLAIM#<sale>#<bucket>, <user>.
type Claim struct {
	User    string
	ClaimID string
	Bucket  int
	Shard   int
	// Units is 0 for one unit; see Count.
	Units      int64
	AcceptedAt time.Time
	// OrderID is "" while the claim is pending; ConfirmedAt is the second encoded in
	// it.
	OrderID     string
	ConfirmedAt time.Time
	// Payment is the provider and the reference of its payment; "" if it is not paid.
	Payment string

	settlement
	claimTerms
	orderID uint64
}

// Count is how many units the claim has.
func (c Claim) Count() int64 { return max(1, c.Units) }

// claimTerms are the sale's, as its claims repeat them.
type claimTerms struct {
	PayWithin, Price int64
	PriceCurrency    string
	saysTerms        bool // a claim that was made before 0.10.0 does not
}

func (t claimTerms) String() string {
	return fmt.Sprintf("%d %s are paid within %d seconds", t.Price, t.PriceCurrency, t.PayWithin)
}

// settlement is how a claim ended: paid, released or neither; and whether an operator has cancelled it.
type settlement struct {
	PaidAt     int64 // 0 if it is not paid
	Amount     int64
	Currency   string
	ReleasedAt int64 // 0 if it is not released
	ReleasedBy string
	// CancelledAt is of a claim that an operator cancelled after it was paid, Unit of any that it has cancelled.
	CancelledAt int64
	Unit        string
	Refunds     []string // payments of its order that are to be refunded
	ResentAt    int64    // 0 if its message was never resent
	Labels      string
	MinReader   int64

	returned // as long as the payment has no refund
}

var readClaim = reader("claim", func(f *fields, c *Claim) {
	if c.OrderID != "" {
		c.orderID, _ = strconv.ParseUint(c.OrderID, 10, 63)
		c.ConfirmedAt = secondOf(c.orderID)
	}
	f.together("paidAt", "payment", "amount", "currency")
	c.saysTerms = f.has("payWithin")
	f.together("payWithin", "price")
	f.with("payWithin", "priceCurrency")
	f.together("releasedAt", "releasedBy")
	f.with("paidAt", "cancelledAt", "refundedAt", "money")
	c.returned.check(f)
	f.with("unit", "cancelledAt")
	isOther := func(payment string) bool { return payment == c.Payment }
	f.failIf(len(slices.DeleteFunc(slices.Clone(c.Refunds), isOther)) > maxClaimRefunds, "refunds are more than 20")
})

// Order is ORDER#<order id>, ORDER.
type Order struct{ ID, SaleID, User, ClaimID string }

var readOrder = reader("order", func(f *fields, o *Order) { o.ID = f.parts.get("order") })

// sequence is SEQ#<yyyy-mm-dd>, SEQ: the day's last number used for an order id.
type sequence struct{ Next int64 }

var readSequence = reader("sequence", func(*fields, *sequence) {})

// An order id is the seconds since this instant, followed by 32 bits of the number
// within that second's day.
var orderEpoch = time.Date(2023, time.January, 1, 0, 0, 0, 0, time.UTC)

func secondOf(orderID uint64) time.Time {
	return time.Unix(orderEpoch.Unix()+int64(orderID>>32), 0).UTC()
}

func numberOf(orderID uint64) int64 { return int64(orderID & 0xffff_ffff) }

// dayAndNumber is different for two orders unless they have the same number on the same day.
func dayAndNumber(orderID uint64) uint64 {
	const daySeconds = 24 * 60 * 60 // the epoch is a midnight
	return orderID>>32/daySeconds<<32 | orderID&0xffff_ffff
}

func dayOf(orderID uint64) string { return secondOf(orderID).Format(time.DateOnly) }

// share is the number of units that shard k of n gets of one seeding: an equal part,
// and the first shards one more each for the remainder.
func share(units int64, k, n int) int64 {
	if int64(k) < units%int64(n) {
		return units/int64(n) + 1
	}
	return units / int64(n)
}

// bucketOf is the bucket of a user's claim: FNV-1a of the user's bytes, mixed by
// SplitMix64's finalizer, modulo the number of buckets.
func bucketOf(user string, buckets int) int {
	z := hashOf(user) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(buckets))
}
