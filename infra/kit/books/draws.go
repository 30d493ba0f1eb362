package books

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"flashsale/infra/kit/drawcheck/rules"
)

// callTime is how long after a call is due it may begin: the draw function looks once a minute.
const callTime = 3 * time.Minute

// drawCount is what a pass has read of a draw.
type drawCount struct {
	leafKey       []byte
	head          rules.Draw // without its calls
	before, after []callItem // before and after the claims, in the order of their numbers
	pages         [rules.Pages][]rules.Leaf
	parts         int
	called        []int64 // by the first look at the calls, how many people each has called
	bought        int64   // claims of people whom the newest of them has called
	unturned      []Claim // accepted in no call of the first look
	unowned       int64   // leaves of nobody who entered
	lastReleased  int64   // of the claims
}

// readDraw reads the draw before the claims: its calls only grow, and the roll never changes.
func (p *pass) readDraw(ctx context.Context) (err error) {
	if !p.lasting().hasDraw() {
		return nil
	}
	d := &p.draw
	if d.before, err = p.readCalls(ctx); err != nil {
		return err
	}
	err = cmp.Or(
		each(ctx, p, "DRAWKEY#"+p.saleID, func(it item) error {
			d.leafKey = sound(p, it, readLeafKey).LeafKey
			return nil
		}),
		each(ctx, p, "ROLL#"+p.saleID, func(it item) error {
			part := sound(p, it, readPart)
			d.pages[part.Page] = append(d.pages[part.Page], part.leaves...)
			d.parts++
			return nil
		}))
	if err != nil {
		return err
	}
	if d.leafKey == nil {
		p.find("P27", "draw key", "the key of the draw's receipts is missing: nobody can be told that they are on the roll")
		return nil
	}
	for page := range rules.Pages {
		if err := p.readEntries(ctx, page); err != nil {
			return err
		}
	}
	p.judgeOrder()
	return nil
}

// readCalls reads the calls of the draw, and its head as it is now.
func (p *pass) readCalls(ctx context.Context) (calls []callItem, err error) {
	err = each(ctx, p, "DRAW#"+p.saleID, func(it item) error {
		switch sk := keyOf(it).sk; {
		case sk == "HEAD":
			p.draw.head = sound(p, it, readHead)
		case strings.HasPrefix(sk, "CALL#"):
			calls = append(calls, sound(p, it, readCall))
		default:
			p.malformed(it, "no such item is documented under a draw's key")
		}
		return nil
	})
	return calls, err
}

// readEntries compares the entries of a page with the roll: an entry may be missing on it, if it
// was applied late, but nobody is on it who did not enter.
func (p *pass) readEntries(ctx context.Context, page int) error {
	terms, entered := p.lasting().drawTerms, map[rules.Leaf]bool{}
	err := each(ctx, p, entryPK(p.saleID, page), func(it item) error {
		at, user := sound(p, it, readEntry).At, keyOf(it).sk
		l, about := leafOf(p.draw.leafKey, user), "entry "+user
		p.findIf(int(l[0]) != page, "P27", about+" "+pageName(page),
			"an entry of %q lies in page %s, where nobody looks for it; the user's page is %s", user, pageName(page), pageName(int(l[0])))
		p.findIf(at < terms.EnterFrom || at >= terms.EnterUntil, "P27", about, "%q entered at %s, when nobody could", user, clock(at))
		entered[l] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, l := range p.draw.pages[page] {
		if entered[l] {
			continue
		}
		if p.draw.unowned++; p.draw.unowned > p.before.sale.Erased {
			p.find("P27", "leaf "+hex.EncodeToString(l[:]), "the leaf %x is on the roll, but is of nobody who entered", l)
		}
	}
	return nil
}

func entryPK(saleID string, page int) string { return "ENTRY#" + saleID + "#" + pageName(page) }

// judgeOrder checks the roll, the seed and the calls before any claim is compared with them, and
// counts whom each call has called.
func (p *pass) judgeOrder() {
	d := &p.draw
	switch of := rules.Pages * pageParts; {
	case d.head.Round == 0 && d.parts > 0:
		p.unfinish("the roll is being closed: %d of %d parts are stored", d.parts, of)
	case d.head.Round != 0 && d.parts != of:
		p.find("P27", "roll parts", "the roll was closed with %d parts, but has %d", of, d.parts)
	}
	draw := d.head
	draw.SaleID, draw.EnterUntil = p.saleID, time.UnixMilli(p.lasting().drawTerms.EnterUntil)
	for _, c := range d.before {
		draw.Calls = append(draw.Calls, c.Call)
	}
	order := rules.Check(&draw, &d.pages, nil) // the table has no key of the dice
	d.called = order.Called
	for _, f := range order.Faults {
		p.find(f.Promise, fmt.Sprint("draw ", f.Promise, " ", f.Call), "%s", f.Text)
	}
	if n := len(d.before); n > 0 && d.before[n-1].At < d.head.ClosedAt.UnixMilli() {
		p.find("P28", "roll closedAt", "the roll was closed at %s, but call %d was begun at %s", rules.Clock(d.head.ClosedAt), n, clock(d.before[n-1].At))
	}
}

// isOnRoll reports whether a leaf is on the roll.
func (p *pass) isOnRoll(l rules.Leaf) bool {
	_, ok := slices.BinarySearchFunc(p.draw.pages[l[0]], l, rules.Leaf.Compare)
	return ok
}

// takeTurn compares a claim with the calls (P29). One that belongs to none of them may belong to
// a call that has begun since, see judgeTurns.
func (p *pass) takeTurn(c Claim) {
	d := &p.draw
	if d.leafKey == nil {
		return
	}
	l := leafOf(d.leafKey, c.User)
	if n := len(d.before); n > 0 && p.isOnRoll(l) && d.before[n-1].Calls(rules.RankOf(d.head.Seed, l)) {
		d.bought++
	}
	if p.outOfTurn(d.before, c) != "" && len(d.unturned) < remembered {
		d.unturned = append(d.unturned, c)
	}
}

// outOfTurn returns why a claim was not accepted in its user's turn by these calls, or "".
func (p *pass) outOfTurn(calls []callItem, c Claim) (why string) {
	d := &p.draw
	at, l := c.AcceptedAt.UnixMilli(), leafOf(d.leafKey, c.User)
	isOpen := func(call callItem) bool { return call.Open && call.admits(at) }
	if slices.ContainsFunc(calls, isOpen) || isErased(c.User) {
		return ""
	}
	if len(d.head.Signature) == 0 {
		return "when nobody had been called"
	}
	rank := rules.RankOf(d.head.Seed, l)
	switch i := slices.IndexFunc(calls, func(call callItem) bool { return call.Calls(rank) }); {
	case !p.isOnRoll(l):
		return "but is not on the roll"
	case i < 0:
		return "but has not been called"
	case !calls[i].admits(at):
		return fmt.Sprintf("but was called from %s to %s", rules.Clock(calls[i].From), rules.Clock(calls[i].Until))
	}
	return ""
}

// judgeDraw compares the draw with the sale, its trail and its claims.
func (p *pass) judgeDraw(h *header) {
	if !p.lasting().hasDraw() || !h.hasSale || p.draw.leafKey == nil {
		return
	}
	for _, c := range p.draw.unturned {
		if why := p.outOfTurn(p.draw.after, c); why != "" {
			p.find("P29", fmt.Sprintf("claim %d %s turn", c.Bucket, c.User), "the claim of %q was accepted at %s, %s", c.User, clock(c.AcceptedAt.UnixMilli()), why)
		}
	}
	if !p.still() || !reflect.DeepEqual(p.draw.before, p.draw.after) {
		return
	}
	p.judgeCourse(h)
	p.judgeKept()
	p.judgeWithdrawn(h)
	p.judgeNext(h)
}

// judgeCourse follows the sale's windows through its trail, which is complete: no release that
// knows no trail can read such a sale.
func (p *pass) judgeCourse(h *header) {
	s, calls := &h.sale, p.draw.after
	now := drawn{BeginsAt: h.create.OpensAt, EndsAt: h.create.ClosesAt}
	opensAt, closesAt, paused, changedAt := now.BeginsAt, now.EndsAt, false, int64(0)
	untils := make([]int64, len(calls))
	for _, c := range p.trail {
		if c.Action == "describe" || c.Number > s.Edits {
			continue
		}
		about := fmt.Sprint("edit ", c.Number, " draw")
		wrong := func(format string, args ...any) {
			p.find("P32", about, "edit %d in the trail, %s, "+format, append([]any{c.Number, c.Action}, args...)...)
		}
		switch {
		case c.Action == "call":
			now.Call++
			switch i := now.Call - 1; {
			case paused || c.Paused:
				wrong("was made while the sale was paused")
			case c.author != author{Actor: "draw", Note: fmt.Sprint("call ", now.Call)}:
				wrong("is by %q with the note %q", c.author.Actor, c.author.Note)
			case i >= int64(len(calls)):
				wrong("has begun call %d, which is missing", now.Call)
			case calls[i].At != c.At || calls[i].From.UnixMilli() != c.OpensAt || c.OpensAt < now.BeginsAt || c.ClosesAt > now.EndsAt:
				wrong("is of %s and opens at %s, but call %d is of %s and opens at %s, in a sale from %s to %s", clock(c.At), clock(c.OpensAt),
					now.Call, clock(calls[i].At), rules.Clock(calls[i].From), clock(now.BeginsAt), clock(now.EndsAt))
			}
			opensAt, closesAt = c.OpensAt, c.ClosesAt
		case c.Action == "reschedule" && now.Call == 0:
			if c.OpensAt != c.BeginsAt || c.ClosesAt != c.EndsAt || c.OpensAt < now.BeginsAt || c.ClosesAt < now.EndsAt {
				wrong("moves the sale from %s to %s, with the window %s to %s", clock(now.BeginsAt), clock(now.EndsAt), clock(c.OpensAt), clock(c.ClosesAt))
			}
			opensAt, closesAt, now.BeginsAt, now.EndsAt = c.OpensAt, c.ClosesAt, c.BeginsAt, c.EndsAt
		case c.Action == "reschedule":
			if c.OpensAt != opensAt || c.ClosesAt < closesAt || c.EndsAt < now.EndsAt || c.ClosesAt > c.EndsAt {
				wrong("moves call %d from %s–%s to %s–%s, in a sale that ends at %s, before at %s", now.Call, clock(opensAt), clock(closesAt), clock(c.OpensAt), clock(c.ClosesAt),
					clock(c.EndsAt), clock(now.EndsAt))
			}
			closesAt, now.EndsAt = c.ClosesAt, c.EndsAt
		}
		if paused = c.Paused; now.Call > 0 && now.Call <= int64(len(calls)) {
			untils[now.Call-1] = closesAt
		}
		before := changedAt
		if changedAt = c.At; c.Action == "call" || c.Action == "recall" {
			continue
		}
		if c.At != max(c.OperatedAt, before+1) {
			wrong("is of %s, but was asked for %s after one of %s", clock(c.At), clock(c.OperatedAt), clock(before))
		}
		if c.OperatedAt <= now.OperatedAt || c.BeginsAt != now.BeginsAt || c.EndsAt != now.EndsAt {
			wrong("is of %s after one of %s, in a sale from %s to %s, which is from %s to %s", clock(c.OperatedAt), clock(now.OperatedAt),
				clock(c.BeginsAt), clock(c.EndsAt), clock(now.BeginsAt), clock(now.EndsAt))
		}
		now.OperatedAt = c.OperatedAt
	}
	now.OpenCall = len(calls) > 0 && calls[len(calls)-1].Open
	p.findIf(s.drawn != now || now.Call != int64(len(calls)), "P32", "sale draw",
		"the sale has the draw %+v with %d calls, but by its trail it is %+v", s.drawn, len(calls), now)
	for i, c := range calls {
		p.findIf(c.Until.UnixMilli() != untils[i], "P29", fmt.Sprint("call ", c.Number, " until"), "call %d ends at %s, by the trail at %s", c.Number, rules.Clock(c.Until), clock(untils[i]))
	}
}

// judgeKept checks that whoever is called and has not bought has a unit, from the call until the
// next one.
func (p *pass) judgeKept() {
	d := &p.draw
	n := len(d.after)
	if n == 0 || n > len(d.called) || d.after[n-1].CallsNobody() || d.after[n-1].Open {
		return
	}
	units, waiting := unitsOf(p.shards0), d.called[n-1]-d.bought-p.erased
	p.findIf(units < waiting, "P30", "kept", "%d people of call %d have not bought, but only %d units are left for them", waiting, n, units)
}

// judgeWithdrawn checks that nothing was withdrawn since the first call: those units are kept for
// the people whom it called.
func (p *pass) judgeWithdrawn(h *header) {
	if len(p.draw.after) == 0 {
		return
	}
	first := p.draw.after[0].At
	for id, s := range h.seeds {
		for n, one := range s.steps {
			p.findIf(!one.Ended && one.At > first+skew.Milliseconds(), "P30", fmt.Sprintf("seed %s %d call", id, n),
				"withdrawal %q took %d units at %s, after the first call was begun at %s", id, one.Units, clock(one.At), clock(first))
		}
	}
}

// judgeNext checks that a call has begun if one was due (P31). The table does not say how long
// the draw waits between its steps; the gap follows from a call, which is begun a quarter of it
// before it opens.
func (p *pass) judgeNext(h *header) {
	d, s, now := &p.draw, &h.sale, p.Now().UnixMilli()
	late := (callTime + p.Overdue).Milliseconds()
	if s.State != "OPEN" || s.Paused || now >= s.drawn.EndsAt {
		return
	}
	due, units, n := s.drawn.BeginsAt, unitsOf(p.shards1), len(d.after)
	switch {
	case d.head.Round == 0:
		p.findIf(now > due+late, "P31", "draw roll",
			"the roll is not closed at %s, %s after the sale began: nobody can be called", clock(now), time.Duration(now-due)*time.Millisecond)
		return
	case len(d.head.Signature) == 0:
		p.unfinishIf(now > due, "the draw waits for round %d of the dice: nobody can be called", d.head.Round)
		return
	case n > 0 && d.after[n-1].Open:
		last := d.after[n-1]
		p.findIf(last.Hi == nil && now > max(last.At, s.ChangedAt)+late, "P31", "draw open", "call %d is for anybody, but was cut off: it may not have reached every shard", n)
		return
	case n > 0:
		last, gap := d.after[n-1], int64(0)
		for _, c := range d.after {
			gap = max(gap, 4*(c.From.UnixMilli()-c.At))
		}
		if due = s.ClosesAt + gap; last.CallsNobody() {
			due = last.From.UnixMilli() + gap
		}
		if max(due, now)+gap/4 >= s.drawn.EndsAt {
			return
		}
	}
	since := max(due, s.ChangedAt, d.lastReleased)
	for _, one := range h.seeds {
		for _, r := range one.shards {
			since = max(since, r.At)
		}
	}
	p.findIf(units > 0 && now > since+late, "P31", "draw call", "%d units are left and call %d was due at %s, but has not begun at %s", units, n+1, clock(due), clock(now))
}
