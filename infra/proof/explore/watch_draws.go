package explore

import (
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
