package explore

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/proof/harness"
)

// callTime is how long after a call is due it may begin (P31).
const callTime = 3 * time.Minute

// watchedDraw is the watch's record of a draw: what became of it in the table, and what its users
// were told.
type watchedDraw struct {
	dice                  *relays  // nil if its signatures are not judged
	users                 []string // who may enter
	enterFrom, enterUntil time.Time
	roll, seed            string
	round                 uint64
	rolledAt              time.Time
	isOn                  map[string]bool
	callOf                map[string]int
	calls                 []*watchedCall
	enteredAt             map[string]time.Time // when users were first told of their entry
	receipts              map[string]string
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
		isOn: map[string]bool{}, callOf: map[string]int{}, enteredAt: map[string]time.Time{}, receipts: map[string]string{}, pays: map[string]bool{},
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
		closed, _ := harness.Number(it["closedAt"])
		if dice := w.world.Chain.TimeOf(d.round).Sub(time.UnixMilli(closed)); dice < harness.DrawTimes.Dice {
			w.violate("P28: the round is signed %v after the roll was closed", dice)
		}
	}
	if roll != d.roll || uint64(round) != d.round || d.seed != "" && seed != d.seed {
		w.violate("P28: roll %s, round %d and seed %q were exchanged for %s, %d and %q", d.roll, d.round, d.seed, roll, round, seed)
	}
	if d.seed = seed; seed != "" && d.dice != nil && harness.Text(it["signature"]) != d.dice.signature(d.round) {
		w.violate("P28: the signature is not that of round %d", d.round)
	}
}

func (w *watchedSale) observeCall(n int, it map[string]types.AttributeValue) {
	d := w.draw
	from, _ := harness.Number(it["from"])
	until, _ := harness.Number(it["until"])
	now := watchedCall{from: time.UnixMilli(from), until: time.UnixMilli(until), lo: harness.Text(it["lo"]), hi: harness.Text(it["hi"]), open: it["open"] != nil}
	if n == len(d.calls)+1 {
		if due := w.nextCallDue(); now.from.Before(due.Add(harness.DrawTimes.Gap / 4)) {
			w.violate("P29: call %d is from %v, and was due at %v", n, now.from, due)
		}
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

// nextCallDue returns the earliest instant of the next call, by what is stored.
func (w *watchedSale) nextCallDue() time.Time {
	d := w.draw
	if len(d.calls) == 0 {
		begins, _ := harness.Number(w.db.Item(harness.TableName, "SALE#"+w.id, "SALE")["beginsAt"])
		return time.UnixMilli(begins)
	}
	last := d.calls[len(d.calls)-1]
	if last.callsNobody() {
		return last.from.Add(harness.DrawTimes.Gap)
	}
	return last.until.Add(harness.DrawTimes.Gap)
}

// callPeople records whom a call that is complete has called.
func (w *watchedSale) callPeople(n int, c *watchedCall) {
	d := w.draw
	if d.seed == "" {
		w.violate("P28: call %d is complete, and there is no seed", n)
		return
	}
	for _, user := range d.users {
		rank := harness.RankOf(d.seed, user)
		if !d.isOn[user] || rank <= c.lo || rank > c.hi {
			continue
		}
		if before := d.callOf[user]; before > 0 {
			w.violate("P30: %s was called by call %d, and is by call %d", user, before, n)
		}
		d.callOf[user] = n
		w.counts["called"]++
	}
}

// checkTurn checks that a claim was made in its user's turn (P29).
func (w *watchedSale) checkTurn(user string, c *seenClaim) {
	d := w.draw
	admits := func(call *watchedCall) bool {
		return !c.acceptedAt.Before(call.from) && c.acceptedAt.Before(call.until)
	}
	if slices.ContainsFunc(d.calls, func(call *watchedCall) bool { return call.open && admits(call) }) {
		return
	}
	if own := d.callOf[user]; own == 0 || !admits(d.calls[own-1]) {
		w.violate("P29: %s got a unit, accepted at %v, is called by call %d of %d", user, c.acceptedAt, own, len(d.calls))
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

// nextOfDraw returns when something is due in a draw; zero if everybody has been called. It is over
// if nothing follows. last is the newest call, or nil.
func (w *watchedSale) nextOfDraw() (due time.Time, ends bool, last *watchedCall) {
	d := w.draw
	sale := w.newestWindow()
	gap := harness.DrawTimes.Gap
	if len(d.calls) > 0 {
		last = d.calls[len(d.calls)-1]
	}
	switch {
	case sale.recalled || !time.Now().Before(sale.endsAt): // also if there were no dice until then
		return time.Time{}, true, last
	case d.roll == "":
		return d.enterUntil.Add(harness.DrawTimes.Settle), false, last
	case d.seed == "":
		return w.world.Chain.TimeOf(d.round), false, last
	case last != nil && last.hi == "":
		return last.begunAt, false, last
	case last != nil && last.open:
		return time.Time{}, false, last
	default:
		due = w.nextCallDue()
	}
	running := last.isRunning()
	return due, !running && (sale.paused || w.total == 0) || !time.Now().Add(gap/2).Before(sale.endsAt) || !due.Add(gap/2).Before(sale.endsAt), last
}
