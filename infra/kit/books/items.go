package books

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// restoreLeap is by what a replay into a restored table raises a sale's version and edits.
const restoreLeap = 1_000_000

const (
	maxShards  = 1000
	maxBuckets = (maxShards + 3) / 4
	maxUnits   = 1_000_000_000 // of one seeding
)

// saleItem is SALE#<sale>, SALE. All instants are Unix milliseconds.
type saleItem struct {
	opensAt, closesAt int64
	paused            bool
	changedAt         int64
	seeded            int64
	room              int64 // -1 if additions are unlimited
	shards, buckets   int
	empty             map[int]bool
	version           int64
	state             string
	lasting
	shown      presentation
	described  int64 // how often a description changed it
	edits      int64 // in the trail
	seedings   int64 // additions and withdrawals
	minReader  int64
	recalledAt int64 // 0 if it was not
	restoredAt int64 // 0 if it was not
	drawn      drawn
	sealed
}

// lasting is what a sale's creation asked for and nothing changes.
type lasting struct {
	terms  terms
	labels string
	group  string // "" for none
	draw   drawTerms
}

func (f *fields) lasting() lasting {
	return lasting{f.terms(), f.labels(), optional(f, "limitGroup", f.id), f.drawTerms()}
}

// hasDraw reports whether a draw decides who may buy.
func (l lasting) hasDraw() bool { return l.draw != drawTerms{} }

// lasting is the sale's, or its creation's if the sale item is missing.
func (p *pass) lasting() lasting {
	if p.before.hasSale {
		return p.before.sale.lasting
	}
	return p.before.create.lasting
}

// presentation is what buyers see of a sale.
type presentation struct{ name, image, about, link string }

func (f *fields) presentation() (p presentation) {
	p.name = f.text("name")
	f.failIf(p.name == "" || !isText(p.name, 200), "name is not 1 to 200 printable characters")
	address := func(name string) string {
		text := f.text(name)
		f.failIf(!strings.HasPrefix(text, "https://") || !isText(text, 500), name+" is not an https address of at most 500 characters")
		return text
	}
	p.image, p.link, p.about = optional(f, "image", address), optional(f, "link", address), optional(f, "about", f.text)
	f.failIf(f.has("about") && (p.about == "" || !isText(strings.ReplaceAll(p.about, "\n", ""), 500)), "about is not 1 to 500 printable characters")
	return p
}

func readSale(it item) (s saleItem, problem string) {
	f := newFields(it)
	s = saleItem{
		opensAt: f.instant("opensAt"), closesAt: f.instant("closesAt"), paused: f.flag("paused"),
		changedAt: f.within("changedAt", 0, year2100), seeded: f.within("seeded", 0, math.MaxInt64), room: -1,
		shards: int(f.within("shards", 1, maxShards)), buckets: int(f.within("buckets", 1, maxBuckets)),
		empty: optional(f, "empty", f.numbers), version: f.positive("version"), state: f.oneOf("state", "DRAFT", "OPEN"),
		lasting: f.lasting(), minReader: f.minReader(), shown: f.presentation(), described: optional(f, "described", f.positive),
		edits: optional(f, "edits", f.positive), seedings: optional(f, "seedings", f.positive), recalledAt: optional(f, "recalledAt", f.instant), restoredAt: optional(f, "restoredAt", f.instant),
	}
	s.drawn, s.sealed = f.drawn(s.hasDraw()), f.sealed()
	if f.has("room") {
		s.room = f.within("room", 0, maxUnits)
	}
	f.failIf(f.has("recallNote") && f.printable("recallNote", 500) != "" && s.recalledAt == 0, "recallNote is there, but no recalledAt")
	f.window(s.opensAt, s.closesAt)
	return s, f.end()
}

func (f *fields) window(opensAt, closesAt int64) {
	f.failIf(opensAt >= closesAt, "closesAt is not after opensAt")
}

// createItem is SALE#<sale>, CREATE.
type createItem struct {
	shown             presentation
	opensAt, closesAt int64
	stock             int64
	maxStock          int64 // 0 if there is none
	shards            int
	lasting
}

func readCreate(it item) (c createItem, problem string) {
	f := newFields(it)
	c = createItem{
		shown: f.presentation(), opensAt: f.instant("opensAt"), closesAt: f.instant("closesAt"),
		stock: f.within("stock", 1, maxUnits), shards: int(f.within("shards", 1, maxShards)),
		lasting: f.lasting(),
	}
	c.maxStock = optional(f, "maxStock", f.between(c.stock, maxUnits))
	f.window(c.opensAt, c.closesAt)
	return c, f.end()
}

// seedItem is SALE#<sale>, SEED#<seed> or SEED#<seed>#<shard>. The units of a
// withdrawal are negative.
type seedItem struct {
	units, at int64
	action    string
	author    author
	labels    string
}

func readSeed(it item) (s seedItem, problem string) {
	f := newFields(it)
	s = seedItem{units: f.within("units", -maxUnits, maxUnits), at: f.instant("at"), author: f.author(), labels: f.labels()}
	f.failIf(s.units == 0, "units is 0")
	s.action = f.text("action")
	f.failIf(s.action != map[bool]string{true: "add", false: "withdraw"}[s.units > 0], "action is not what its units say")
	return s, f.end()
}

func readReceipt(it item) (s seedItem, problem string) {
	f := newFields(it)
	s = seedItem{units: f.within("units", 1, maxUnits), at: f.instant("at")}
	return s, f.end()
}

// stepItem is SALE#<sale>, WITHDRAWN#<seed>#<step>: units taken from a shard, or the
// end of a withdrawal that found no more.
type stepItem struct {
	shard     int
	units, at int64
	ended     bool
}

func readStep(it item) (s stepItem, problem string) {
	f := newFields(it)
	s.at = f.instant("at")
	if f.has("ended") {
		s.ended = f.mark("ended")
		return s, f.end()
	}
	s.shard, s.units = f.shard(), f.within("units", 1, maxUnits)
	return s, f.end()
}

// listingItem is SALES, <sale>.
type listingItem struct {
	closesAt  int64
	drained   bool
	payWithin int64
	labels    string
	minReader int64
	refundAt  int64 // 0 if there is no refund
	recalling int64 // the recall whose orders are not all finished; 0 if there is none
	noted     bool  // it has a cursor
	releasing bool
	draw      bool
	sealedAt  int64 // 0 if it is not
}

func readListing(it item) (l listingItem, problem string) {
	f := newFields(it)
	l.closesAt, l.payWithin, l.labels, l.minReader = f.instant("closesAt"), f.terms().payWithin, f.labels(), f.minReader()
	l.drained, l.draw = f.mark("drained"), f.mark("draw")
	l.sealedAt, l.refundAt, l.recalling = optional(f, "sealedAt", f.instant), optional(f, "refundAt", f.instant), optional(f, "recalling", f.instant)
	for _, name := range []string{"cursor", "books", "releasing"} {
		f.failIf(f.has(name) && !json.Valid([]byte(f.text(name))), name+" is not JSON")
	}
	l.noted, l.releasing = f.has("cursor"), f.has("releasing")
	f.failIf(optional(f, "nextDue", f.instant) != 0 && l.payWithin == 0, "nextDue is there, but no payWithin")
	return l, f.end()
}

// shardItem is STOCK#<sale>#<shard>, STOCK.
type shardItem struct {
	stock, seeded     int64
	opensAt, closesAt int64
	paused            bool
	changedAt         int64
	// counts: released and putBack are there.
	counts            bool
	released, putBack int64
}

func readShard(it item) (s shardItem, problem string) {
	f := newFields(it)
	s = shardItem{
		stock: f.number("stock"), seeded: f.number("seeded"), opensAt: f.number("opensAt"), closesAt: f.number("closesAt"),
		paused: f.flag("paused"), changedAt: f.number("changedAt"),
	}
	if s.counts = f.has("released") || f.has("putBack"); s.counts {
		s.released, s.putBack = f.number("released"), f.number("putBack")
	}
	return s, f.end()
}

// Claim is one unit held by one buyer: CLAIM#<sale>#<bucket>, <user>.
type Claim struct {
	User       string
	ClaimID    string
	Bucket     int
	Shard      int
	AcceptedAt time.Time
	// OrderID is "" while the claim is pending; ConfirmedAt is the second encoded in
	// it.
	OrderID     string
	ConfirmedAt time.Time

	orderID  uint64
	resentAt int64 // 0 if its message was never resent
	labels   string
	settlement
}

// readClaim reads the claim of a user. The shard is -1 if it is missing or invalid.
func readClaim(it item, bucket int) (c Claim, problem string) {
	f := newFields(it)
	c = Claim{User: keyOf(it).sk, Bucket: bucket, ClaimID: f.id("claimId")}
	f.failIf(!isUser(c.User), "sk is no user id")
	c.Shard = f.shard()
	c.AcceptedAt = time.UnixMilli(f.instant("acceptedAt")).UTC()
	optional(f, "requestKey", f.id)
	c.resentAt = optional(f, "resentAt", f.instant)
	if f.has("orderId") {
		if c.orderID = uint64(f.positive("orderId")); numberOf(c.orderID) == 0 {
			f.fail("orderId has no number of its day")
		}
		c.OrderID, c.ConfirmedAt = strconv.FormatUint(c.orderID, 10), secondOf(c.orderID)
	}
	c.labels, c.settlement = f.labels(), f.settlement()
	return c, f.end()
}

// Order is ORDER#<order id>, ORDER.
type Order struct {
	ID, SaleID, User, ClaimID string
}

func readOrder(it item) (o Order, problem string) {
	f := newFields(it)
	_, id, _ := cutKind(keyOf(it).pk)
	o = Order{ID: id, SaleID: f.text("saleId"), User: f.text("user"), ClaimID: f.id("claimId")}
	if n, err := strconv.ParseUint(id, 10, 63); err != nil || strconv.FormatUint(n, 10) != id || numberOf(n) == 0 {
		f.fail("its key is no order id")
	}
	f.failIf(keyOf(it).sk != "ORDER", "sk is not ORDER")
	return o, f.end()
}

// readSequence reads SEQ#<yyyy-mm-dd>, SEQ: the day's last number used for an order id.
func readSequence(it item) (next int64, problem string) {
	f := newFields(it)
	next = f.within("next", 1, math.MaxUint32)
	optional(f, "restoredAt", f.instant)
	_, day, _ := cutKind(keyOf(it).pk)
	if _, err := time.Parse(time.DateOnly, day); err != nil || keyOf(it).sk != "SEQ" {
		f.fail("its key names no day")
	}
	return next, f.end()
}

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
	h := fnv.New64a()
	_, _ = io.WriteString(h, user) // a hash takes everything
	z := h.Sum64() + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(buckets))
}
