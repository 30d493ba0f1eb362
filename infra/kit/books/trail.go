package books

import (
	"context"
	"fmt"
)

// changeItem is CHANGES#<sale>, <number>: an edit in the sale's trail.
type changeItem struct {
	author
	Number                       int64
	ID, Action, Labels           string
	At                           int64
	Paused                       bool
	OpensAt, ClosesAt            int64 // 0 in a description
	OperatedAt, BeginsAt, EndsAt int64 // of a sale with a draw, after an operator's edit
	PayUntil                     int64 // of an extension
}

var readChange = reader("edit, description", func(f *fields, c *changeItem) {
	if c.Action == "describe" {
		f.failIf(!f.has("name") && !f.has("image") && !f.has("about") && !f.has("link"), "it describes nothing")
		return
	}
	isOperators := c.Action != "recall" && c.Action != "call"
	f.window(c.OpensAt, c.ClosesAt)
	f.failIf(c.Action != "reschedule" && c.Action != "extend" && c.Paused == (c.Action == "resume" || c.Action == "call"), "paused is not what its action leaves")
	f.together("operatedAt", "beginsAt", "endsAt")
	f.failIf(f.has("payUntil") != (c.Action == "extend"), "payUntil is not what its action leaves")
	f.failIf(f.has("operatedAt") && !isOperators, "operatedAt is there, but no operator made it")
})

// readTrail reads the sale's trail between the two reads of its own items: an edit is in both
// or in neither (P32).
func (p *pass) readTrail(ctx context.Context) error {
	return each(ctx, p, "CHANGES#"+p.saleID, func(it item) error {
		if c := sound(p, it, readChange); c.Number > 0 {
			p.trail = append(p.trail, c)
			p.checkLabels("edit "+keyOf(it).sk, fmt.Sprintf("edit %d", c.Number), c.Labels)
		}
		return nil
	})
}

// judgeTrail follows the sale's edits, from its creation to what it is now.
func (p *pass) judgeTrail(h *header) {
	const promise = "P32"
	s, ids, next, described, payUntil := &h.sale, map[string]int64{}, int64(1), int64(0), int64(0)
	last := changeItem{OpensAt: h.create.OpensAt, ClosesAt: h.create.ClosesAt}
	missing := func(before int64) {
		for ; next < before && next <= p.before.sale.Edits && s.RestoredAt == 0; next++ {
			p.find(promise, fmt.Sprint("edit ", next), "edit %d is not in the trail: nobody can say who made it", next)
		}
	}
	for _, c := range p.trail {
		about := fmt.Sprint("edit ", c.Number)
		missing(c.Number)
		next = c.Number + 1
		if c.Number > s.Edits {
			p.find(promise, about, "the trail has an edit %d, but the sale has %d", c.Number, s.Edits)
			continue
		}
		if other := ids[c.ID]; other > 0 {
			p.find(promise, about, "edits %d and %d have the id %q: it was applied twice", other, c.Number, c.ID)
		}
		ids[c.ID] = c.Number
		if c.Action == "describe" {
			described++
			continue
		}
		p.findIf(c.At <= last.At, promise, about, "edit %d is of %s, and edit %d before it of %s", c.Number, clock(c.At), last.Number, clock(last.At))
		p.findIf(c.Action == "recall" && p.still() && s.RecalledAt != c.At && c.At > s.RestoredAt+skew.Milliseconds(), promise, about,
			"the trail has a recall of %s, but the sale was recalled at %s", clock(c.At), clock(s.RecalledAt))
		p.findIf(c.Action == "extend" && c.PayUntil < payUntil, "P38", about, "edit %d takes back time to pay that was given before: %s instead of %s", c.Number, clock(c.PayUntil), clock(payUntil))
		payUntil = max(payUntil, c.PayUntil)
		isKept := c.Action == "call" || c.Action == "reschedule" || c.OpensAt == last.OpensAt && c.ClosesAt == last.ClosesAt
		p.findIf(s.RestoredAt == 0 && h.hasCreate && !isKept, promise, about, "edit %d in the trail, %s, leaves the window %s to %s, which was %s to %s", c.Number, c.Action,
			clock(c.OpensAt), clock(c.ClosesAt), clock(last.OpensAt), clock(last.ClosesAt))
		p.findIf(s.RestoredAt == 0 && c.Action == "extend" && c.Paused != last.Paused, promise, about, "edit %d in the trail, %s, leaves the sale paused: %t", c.Number, c.Action, c.Paused)
		last = c
	}
	missing(p.before.sale.Edits + 1)
	if !p.still() || !h.hasSale || !h.hasCreate || last.At <= s.RestoredAt && s.RestoredAt > 0 {
		return
	}
	p.findIf(described != s.Described && s.RestoredAt == 0, promise, "sale described", "the trail has %d descriptions, but the sale counts %d", described, s.Described)
	p.findIf(s.PayUntil < payUntil || s.PayUntil > payUntil && s.RestoredAt == 0, "P38", "sale payUntil", "by its trail unpaid orders have until %s, but the sale says until %s",
		clock(payUntil), clock(s.PayUntil))
	is := edited{last.OpensAt, last.ClosesAt, last.At, last.Paused}
	p.findIf(is != s.edited, "P14", "trail last", "by its creation and its trail the sale is %s, but says that it is %s", is, s.edited)
}

// judgeHasty finds claims that expired in time that an extension had given, or after the end of a sale with lateDays
// before they were over. The instant of an edit is that of the sale's item; it is answered when every shard has it.
func (p *pass) judgeHasty(h *header) {
	ended := max(h.create.ClosesAt, h.sale.ClosesAt)
	for _, e := range p.trail {
		ended = max(ended, e.ClosesAt)
	}
	for _, c := range p.hasty {
		due := c.ConfirmedAt.UnixMilli() + h.sale.PayWithin*1000 + h.sale.late()
		p.findIf(h.sale.RestoredAt == 0 && c.ReleasedAt > ended+reachesAll.Milliseconds() && c.ReleasedAt < due, "P39", fmt.Sprintf("claim %d %s late", c.Bucket, c.User),
			"the claim of %q expired at %s, after the end of the sale, and could be paid late until %s", c.User, clock(c.ReleasedAt), clock(due))
		for _, e := range p.trail {
			p.findIf(e.At+reachesAll.Milliseconds() < c.ReleasedAt && c.ReleasedAt < e.PayUntil, "P38", fmt.Sprintf("claim %d %s extended", c.Bucket, c.User),
				"the claim of %q expired at %s, although edit %d of %s had given until %s", c.User, clock(c.ReleasedAt), e.Number, clock(e.At), clock(e.PayUntil))
		}
	}
}
