package explore

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/harness"
	"flashsale/shared/orderid"
)

// watch reads the table after every call that may have changed it, and records the
// facts for checking the answers. The network's lock is held in every method.
type watch struct {
	world *harness.World
	db    *dynamotest.DB
	began time.Time
	skew  time.Duration   // maximum error of a clock
	late  map[string]bool // items that a late request may still change
	sales map[string]*watchedSale
	// refused are the claim ids of refused requests.
	refused   map[string]bool
	calmSince time.Time      // since when there are no faults; zero if there may be some
	counts    map[string]int // see counters
	found     []string       // the first violations
}

// watchedSale is the watch's record of one sale: when there was no stock, who got which
// claim when, and which window was written where.
type watchedSale struct {
	*watch
	id         string
	stock      map[string]int64
	sold       map[string]int64
	total      int64
	emptySpans []span                // when all shards were empty; the last span may be open
	soldOut    chan struct{}         // holds a token after the last unit was sold
	claims     map[string]*seenClaim // by user
	grouped    bool
	draw       *watchedDraw // nil if the sale has none
	// windows are those written to the sale and to each shard, in order.
	windows map[string][]window
	// left is how many units were in stock, and available, of each shard, how many also with those that were to be put back.
	left      []level
	available map[string][]level
	late      bool  // it has a late day
	mostUnits int64 // of an order
	// moved is how many units other shards gave to a shard, allMoved their sum. allSold and claimed are the units of
	// all shards that were sold, and of all claims.
	moved                      map[string]int64
	allMoved, allSold, claimed int64
	notWhole                   bool // an order has not all its units, which was found
	// payUntil is until when unpaid orders have been given time, and when that was answered first.
	payUntil, extendedAt time.Time
	// answeredWindow is the window after the newest answered edit; nil while an edit is in
	// progress.
	answeredWindow *window
}

// span is a period; to is zero while it lasts.
type span struct{ from, to time.Time }

// level is how many units there were from an instant on.
type level struct {
	from  time.Time
	units int64
}

// fewest is how few units there were in [from, to].
func fewest(levels []level, from, to time.Time) int64 {
	least := int64(math.MaxInt64)
	for i := len(levels) - 1; i >= 0; i-- {
		if !levels[i].from.After(to) {
			least = min(least, levels[i].units)
		}
		if !levels[i].from.After(from) {
			return least
		}
	}
	return 0 // before the sale
}

// overlaps reports whether the span has an instant in [from, to].
func (s span) overlaps(from, to time.Time) bool {
	return !s.from.After(to) && (s.to.IsZero() || !s.to.Before(from))
}

// seenClaim is a claim as it was first seen.
type seenClaim struct {
	id, orderID string
	key         string // of the purchase; isBought: a 202 told of it
	units       int64
	isBought    bool
	end         string // its payment, or by whom it was released
	unit        string // of an order that an operator has cancelled, what became of it
	acceptedAt  time.Time
	at          time.Time
	releasedAt  time.Time // zero if it is not released, nor cancelled after it was paid
}

// visibleToAll is when every reader sees the claim: it may be the half of its transaction that
// becomes visible later.
func (h *seenClaim) visibleToAll() time.Time { return h.at.Add(hiddenAtMost) }

// isReleased reports whether every reader sees at that instant that the claim is released.
func (h *seenClaim) isReleased(at time.Time) bool {
	return !h.releasedAt.IsZero() && h.releasedAt.Add(hiddenAtMost).Before(at)
}

// window is one item's conditions for admitting a purchase, and since when they
// applied.
type window struct {
	span
	open              bool // not a draft
	opensAt, closesAt time.Time
	paused, recalled  bool
	// endsAt is the end of a sale with a draw, or closesAt; call is its newest call. ofShard: a
	// shard of such a sale, which says nothing about either.
	endsAt  time.Time
	call    int64
	ofShard bool
}

func newWatch(world *harness.World, skew time.Duration) *watch {
	return &watch{
		world: world, db: world.DB, began: time.Now(), skew: skew, late: map[string]bool{}, sales: map[string]*watchedSale{},
		refused: map[string]bool{}, counts: map[string]int{},
	}
}

// add starts watching a sale.
func (w *watch) add(id string, grouped bool) *watchedSale {
	s := &watchedSale{
		watch: w, id: id, grouped: grouped, stock: map[string]int64{}, sold: map[string]int64{}, emptySpans: []span{{from: w.began}}, soldOut: make(chan struct{}, 1),
		claims: map[string]*seenClaim{}, available: map[string][]level{}, moved: map[string]int64{}, windows: map[string][]window{},
	}
	w.sales[id] = s
	return s
}

func (w *watch) violate(format string, args ...any) {
	if w.counts["violations"]++; w.counts["violations"] > maxShown {
		return
	}
	w.found = append(w.found, fmt.Sprintf("after %v: ", time.Since(w.began))+fmt.Sprintf(format, args...))
}

// afterCall checks the items that a call wrote, and those that an earlier one may have
// written late.
func (w *watch) afterCall(keys []string, late bool) {
	for _, key := range keys {
		if late {
			w.late[key] = true
		}
		w.observe(key)
	}
	for _, key := range harness.Sorted(w.late) {
		w.observe(key)
	}
	if w.db.Pending() == 0 {
		clear(w.late)
	}
	for _, s := range w.sales {
		if s.draw != nil {
			s.checkKept()
		}
		if (s.allSold != s.claimed || s.allMoved != 0) && !s.notWhole {
			s.notWhole = true
			s.violate("P40: %d units of %s were sold, %d moved, and the claims have %d", s.allSold, s.id, s.allMoved, s.claimed)
		}
	}
}

// observe reads one item, without faults, and compares.
func (w *watch) observe(key string) {
	pk, sk, _ := strings.Cut(key, "|")
	parts := strings.SplitN(pk, "#", 3)
	if len(parts) < 2 {
		return
	}
	s := w.sales[parts[1]]
	kind := parts[0]
	if s == nil || kind != "STOCK" && kind != "CLAIM" && kind != "DRAW" && sk != "SALE" {
		return
	}
	it := w.db.Item(harness.TableName, pk, sk)
	switch {
	case it == nil:
	case kind == "STOCK":
		s.observeShard(key, it)
	case kind == "CLAIM":
		s.observeClaim(sk, it)
	case kind == "DRAW":
		s.observeDraw(sk, it)
	default:
		s.observeWindow(key, it)
	}
}

func (w *watchedSale) observeShard(key string, it map[string]types.AttributeValue) {
	stock, ok := harness.Number(it["stock"])
	if !ok || stock < 0 {
		w.violate("P1: %s has %d units", key, stock)
	}
	seeded, _ := harness.Number(it["seeded"])
	putBack, _ := harness.Number(it["putBack"])
	moved, _ := harness.Number(it["moved"])
	if gave := w.moved[key] - moved; gave > 0 {
		w.counts["splits"] += int(gave)
	}
	w.allMoved += moved - w.moved[key]
	w.moved[key] = moved
	if sold := seeded - stock + putBack + moved; sold < w.sold[key] {
		w.violate("P2: %s had sold %d units and has sold %d", key, w.sold[key], sold)
	} else {
		w.allSold += sold - w.sold[key]
		w.sold[key] = sold
	}
	released, _ := harness.Number(it["released"])
	w.available[key] = append(w.available[key], level{time.Now(), stock + released - putBack})
	before := w.total
	w.total += stock - w.stock[key]
	w.stock[key] = stock
	now := time.Now()
	if n := len(w.left); n > 0 && w.left[n-1].from.Equal(now) { // all shards of a transaction change at once
		w.left = w.left[:n-1]
	}
	w.left = append(w.left, level{now, w.total})
	if before != 0 && w.total == 0 {
		w.emptySpans = append(w.emptySpans, span{from: now})
		select {
		case w.soldOut <- struct{}{}:
		default:
		}
	}
	if before == 0 && w.total != 0 {
		w.emptySpans[len(w.emptySpans)-1].to = now
	}
	w.observeWindow(key, it)
}

func (w *watchedSale) observeClaim(user string, it map[string]types.AttributeValue) {
	id, orderID := harness.Text(it["claimId"]), harness.Text(it["orderId"])
	known := w.claims[user]
	if known == nil {
		accepted, _ := harness.Number(it["acceptedAt"])
		c := &seenClaim{
			id: id, orderID: orderID, key: harness.Text(it["requestKey"]), acceptedAt: time.UnixMilli(accepted), at: time.Now(),
		}
		units, _ := harness.Number(it["units"])
		c.units = max(1, units)
		w.claimed += c.units
		w.claims[user] = c
		w.checkAdmitted(user, c)
		if w.refused[id] {
			w.violate("P5: a request of %s was refused, and got %s afterwards", user, id)
		}
		return
	}
	if units, _ := harness.Number(it["units"]); max(1, units) != known.units {
		w.violate("P40: the claim of %s had %d units and has %d", user, known.units, units)
	}
	if known.id != id {
		w.violate("P3: the claim of %s was %s and is %s", user, known.id, id)
	}
	if known.orderID != "" && known.orderID != orderID {
		w.violate("P7: the order of %s was %s and is %s", user, known.orderID, orderID)
	}
	known.orderID = orderID
	w.observeEnd(user, known, it)
}

// observeEnd checks that a claim is paid or released once, and not before its time (P20,
// P21).
func (w *watchedSale) observeEnd(user string, known *seenClaim, it map[string]types.AttributeValue) {
	end := harness.Text(it["payment"])
	if by := harness.Text(it["releasedBy"]); by != "" {
		if by == "operator" && it["unit"] == nil && !w.isRecalled() {
			w.violate("P35: the claim of %s is released by the operator, and neither cancelled nor its sale recalled", user)
		}
		if end != "" {
			w.violate("P20: the claim of %s is paid by %s and released by %s", user, end, by)
		}
		released, _ := harness.Number(it["releasedAt"])
		id, err := strconv.ParseUint(known.orderID, 10, 64)
		if due := orderid.Time(id).Add(harness.PayWithin + harness.Grace); err != nil || by == "expiry" && time.UnixMilli(released).Before(due) {
			w.violate("P21: the claim of %s, order %s, was released at %v, due at %v", user, known.orderID, time.UnixMilli(released), due)
		}
		if known.end == "" && by == "expiry" && time.UnixMilli(released).Before(w.payUntil.Add(harness.Grace)) && !w.payUntil.IsZero() {
			w.violate("P38: the claim of %s was released at %v, after it was answered that it has time until %v", user, time.UnixMilli(released), w.payUntil)
		}
		if known.end == "" && by == "expiry" && w.late {
			w.checkLate(user, id, time.UnixMilli(released))
		}
		if end = by; known.end == "" {
			known.releasedAt = time.Now()
		}
	}
	if known.unit != "" && known.unit != harness.Text(it["unit"]) {
		w.violate("P37: the unit of %s was %s and is %s", user, known.unit, harness.Text(it["unit"]))
	}
	if known.unit = harness.Text(it["unit"]); it["cancelledAt"] != nil && known.releasedAt.IsZero() {
		known.releasedAt = time.Now()
	}
	if known.end != "" && known.end != end {
		w.violate("P20: the claim of %s ended as %q and now as %q", user, known.end, end)
	}
	known.end = end
}

// checkLate checks that an order expired before its late day was over only if no order could have all its units when its pass had begun,
// and not after the end (P39). The shards are read one after the other.
func (w *watchedSale) checkLate(user string, id uint64, released time.Time) {
	due := orderid.Time(id).Add(harness.PayWithin)
	if w.payUntil.After(due) {
		due = w.payUntil
	}
	if !released.Before(due.Add(harness.Grace + lateFor)) {
		return
	}
	began := time.Now().Add(-harness.Timeouts[harness.Releasing] - time.Second)
	mayBeOpen := slices.ContainsFunc(w.windows["SALE#"+w.id+"|SALE"], func(v window) bool {
		return v.overlaps(began, time.Now()) && released.Before(v.endsAt.Add(harness.Timeouts[harness.Releasing]))
	})
	left := int64(0)
	for _, levels := range w.available {
		left += fewest(levels, began, time.Now())
	}
	if !mayBeOpen || left >= w.mostUnits {
		w.violate("P39: the claim of %s was released at %v, but units were left, or the sale was over", user, released)
	}
}

// extend records the answer to an edit that gives more time.
func (w *watchedSale) extend(until time.Time) {
	if until.After(w.payUntil) {
		w.payUntil, w.extendedAt = until, time.Now()
	}
}

// payUntilSince is the time that was given by an edit that was answered by then; zero if none was.
func (w *watchedSale) payUntilSince(by time.Time) time.Time {
	if by.Before(w.extendedAt) {
		return time.Time{}
	}
	return w.payUntil
}

// recordRefusal records that a request was refused: none of its claims exists, and none may
// appear.
func (w *watchedSale) recordRefusal(user string, asked []string) {
	for _, id := range asked {
		w.refused[id] = true
		if c := w.claims[user]; c != nil && c.id == id {
			w.violate("P5: a request of %s was refused, and had got %s", user, id)
		}
	}
}

// checkAdmitted checks that a unit was sold within the window that the last edit's answer
// promised (P14).
func (w *watchedSale) checkAdmitted(user string, c *seenClaim) {
	s := w.answeredWindow
	if s == nil {
		return
	}
	if s.paused || w.draw == nil && (c.acceptedAt.Before(s.opensAt.Add(-time.Millisecond)) || !c.acceptedAt.Before(s.closesAt)) {
		w.violate("P14: %s got a unit at %v while the sale was %+v", user, c.acceptedAt, *s)
	}
}

func (w *watchedSale) observeWindow(key string, it map[string]types.AttributeValue) {
	opens, _ := harness.Number(it["opensAt"])
	closes, _ := harness.Number(it["closesAt"])
	now := window{
		span: span{from: time.Now()}, open: it["state"] == nil || harness.Text(it["state"]) == "OPEN",
		opensAt: time.UnixMilli(opens), closesAt: time.UnixMilli(closes), paused: harness.IsTrue(it["paused"]),
		recalled: it["recalledAt"] != nil, ofShard: w.draw != nil && strings.HasPrefix(key, "STOCK#"),
	}
	now.call, _ = harness.Number(it["call"])
	if now.endsAt = now.closesAt; it["endsAt"] != nil {
		ends, _ := harness.Number(it["endsAt"])
		now.endsAt = time.UnixMilli(ends)
		enterFrom, _ := harness.Number(it["enterFrom"])
		enterUntil, _ := harness.Number(it["enterUntil"])
		w.draw.enterFrom, w.draw.enterUntil = time.UnixMilli(enterFrom), time.UnixMilli(enterUntil)
	}
	all := w.windows[key]
	if len(all) > 0 {
		last := &all[len(all)-1]
		if now.span = last.span; now == *last {
			return
		}
		now.span = span{from: time.Now()}
		last.to = now.from
	}
	w.windows[key] = append(all, now)
}

// newestWindow returns the window that the sale item has now; nil if there is none.
func (w *watchedSale) newestWindow() *window {
	all := w.windows["SALE#"+w.id+"|SALE"]
	if len(all) == 0 {
		return nil
	}
	return &all[len(all)-1]
}

// isRecalled reports whether the sale was recalled.
func (w *watchedSale) isRecalled() bool {
	now := w.newestWindow()
	return now != nil && now.recalled
}

// wasEmpty reports whether there was an instant in [from, to] without stock.
func (w *watchedSale) wasEmpty(from, to time.Time) bool {
	for i := len(w.emptySpans) - 1; i >= 0; i-- {
		if w.emptySpans[i].overlaps(from, to) {
			return true
		}
	}
	return false
}

// wasShut reports whether some item, in [from, to], justified refusing a purchase with
// that code at an instant in [sent, to]. Clocks may be wrong.
func (w *watchedSale) wasShut(code string, from, sent, to time.Time) bool {
	for _, all := range w.windows {
		for _, v := range all {
			if !v.overlaps(from, to) {
				continue
			}
			switch {
			case code == "sale-paused" && v.paused,
				code == "recalled" && v.recalled,
				code == "sale-not-open" && !v.ofShard && (v.call <= 1 && sent.Add(-w.skew).Before(v.opensAt) || w.draw != nil && v.call == 0),
				code == "sale-closed" && !v.ofShard && !to.Add(w.skew).Before(v.endsAt),
				code == "sale-not-found" && !v.open:
				return true
			}
		}
	}
	return code == "sale-not-found" && w.newestWindow() == nil
}

// callTime is how long after a call is due it may begin (P31).
const callTime = 3 * time.Minute

// watchedDraw is the watch's record of a draw: what became of it in the table, and what its users
// were told.
type watchedDraw struct {
	users                 []string // who may enter
	enterFrom, enterUntil time.Time
	roll, seed            string
	round                 uint64
	rolledAt              time.Time
	isOn                  map[string]bool
	callOf                map[string]int
	calls                 []*watchedCall
	enteredAt             map[string]time.Time // when users were first told of their entry
	entries               map[string]toldEntry
	pays                  map[string]bool // users who have begun to pay
	notKept               bool            // has been found
}

// watchedCall is a call of a draw.
type watchedCall struct {
	from, until time.Time
	lo, hi      string
	open        bool
	begunAt     time.Time
	completeAt  time.Time
	// movedAt is when the call was last given a later end than before.
	before, movedAt time.Time
}

// callsNobody reports whether the call has come to nothing, or may still do so.
func (c *watchedCall) callsNobody() bool { return !c.open && (c.hi == "" || c.hi == c.lo) }

// isRunning reports whether people are called now.
func (c *watchedCall) isRunning() bool {
	return c != nil && !c.callsNobody() && time.Now().Before(c.until)
}

func newWatchedDraw(d *drawDraft) *watchedDraw {
	w := &watchedDraw{
		isOn: map[string]bool{}, callOf: map[string]int{}, enteredAt: map[string]time.Time{}, entries: map[string]toldEntry{}, pays: map[string]bool{},
	}
	for _, e := range d.entrants {
		w.users = append(w.users, e.user)
	}
	return w
}

// observeDraw compares the head or a call of a draw with what was seen of it before.
func (w *watchedSale) observeDraw(sk string, it map[string]types.AttributeValue) {
	if w.draw == nil {
		w.violate("P31: %s has an item %s, and no draw", w.id, sk)
	} else if number, isCall := strings.CutPrefix(sk, "CALL#"); isCall {
		n, _ := strconv.Atoi(number)
		w.observeCall(n, it)
	} else {
		w.observeHead(it)
	}
}

func (w *watchedSale) observeHead(it map[string]types.AttributeValue) {
	d := w.draw
	round, _ := harness.Number(it["round"])
	roll, seed := harness.Text(it["roll"]), harness.Text(it["seed"])
	if d.roll == "" {
		d.roll, d.round, d.rolledAt = roll, uint64(round), time.Now()
		w.counts["rolls"]++
		for _, user := range d.users {
			if d.isOn[user] = harness.IsOnRoll(w.db, w.id, user); !d.isOn[user] && !d.enteredAt[user].IsZero() {
				w.violate("P27: %s was told of an entry, and is not on the roll", user)
			}
		}
	}
	if roll != d.roll || uint64(round) != d.round || d.seed != "" && seed != d.seed {
		w.violate("P28: roll %s, round %d and seed %q were exchanged for %s, %d and %q", d.roll, d.round, d.seed, roll, round, seed)
	}
	d.seed = seed
}

func (w *watchedSale) observeCall(n int, it map[string]types.AttributeValue) {
	d := w.draw
	from, _ := harness.Number(it["from"])
	until, _ := harness.Number(it["until"])
	now := watchedCall{from: time.UnixMilli(from), until: time.UnixMilli(until), lo: harness.Text(it["lo"]), hi: harness.Text(it["hi"]), open: it["open"] != nil}
	if n == len(d.calls)+1 {
		begun := now
		begun.hi, begun.before, begun.begunAt = "", now.until, time.Now()
		d.calls = append(d.calls, &begun)
		if w.counts["calls"]++; now.open {
			w.counts["open-calls"]++
		}
	}
	if n > len(d.calls) {
		w.violate("P30: there is a call %d after %d", n, len(d.calls))
		return
	}
	c := d.calls[n-1]
	if !now.from.Equal(c.from) || now.lo != c.lo || now.open != c.open || c.hi != "" && now.hi != c.hi || now.until.Before(c.until) {
		w.violate("P30: call %d was %+v and is %+v", n, *c, now)
	}
	if now.until.After(c.until) {
		c.before, c.until, c.movedAt = c.until, now.until, time.Now()
		w.counts["moved"]++
	}
	if c.hi != "" || now.hi == "" {
		return
	}
	c.hi, c.completeAt = now.hi, time.Now()
	w.callPeople(n, c)
}

// callPeople records whom a call that is complete has called.
func (w *watchedSale) callPeople(n int, c *watchedCall) {
	d := w.draw
	for _, user := range d.users {
		rank := harness.RankOf(d.seed, user)
		if !d.isOn[user] || rank <= c.lo || rank > c.hi {
			continue
		}
		d.callOf[user] = n
		w.counts["called"]++
	}
}

// checkKept checks that there is a unit for each who is called and has not bought (P30).
func (w *watchedSale) checkKept() {
	d := w.draw
	n := len(d.calls)
	if n == 0 || d.calls[n-1].callsNobody() || d.calls[n-1].open || d.notKept {
		return
	}
	waiting := int64(0)
	for user, call := range d.callOf {
		if call == n && w.claims[user] == nil {
			waiting++
		}
	}
	if w.total < waiting {
		d.notKept = true
		w.violate("P30: %d people of call %d have not bought, and %d units are left", waiting, n, w.total)
	}
}

// isSurely reports whether a call ran by every clock and for whoever looked since that instant.
func (w *watchedSale) isSurely(c *watchedCall, began, now time.Time) bool {
	since, until := began.Add(-harness.RefusalAge-hiddenAtMost), c.until
	if !c.movedAt.Before(since) {
		until = c.before
	}
	return c.hi != "" && c.completeAt.Before(since) && c.from.Add(w.skew).Before(since) && now.Add(w.skew).Before(until)
}

// checkTurnRefusal checks the answer that it is not the user's turn, or not any more (P29).
func (w *watchedSale) checkTurnRefusal(user, code string, began, now time.Time) {
	d := w.draw
	own := d.callOf[user]
	if code == "turn-over" {
		if w.counts["turn-over"]++; own == 0 {
			w.violate("P29: %s was told that a turn is over that never was", user)
		}
	} else {
		w.counts["not-your-turn"]++
	}
	if len(d.calls) == 0 {
		w.violate("P29: %s was told %s, and nobody has been called", user, code)
		return
	}
	newest := d.calls[len(d.calls)-1]
	if own > 0 && w.isSurely(d.calls[own-1], began, now) || newest.open && w.isSurely(newest, began, now) {
		w.violate("P29: %s was told %s during call %d, and is called by call %d", user, code, len(d.calls), own)
	}
}
