package books

import (
	"context"
	"fmt"
	"strings"
)

// changeItem is CHANGES#<sale>, <number>: an edit in the sale's trail.
type changeItem struct {
	number            int64
	id, action        string
	at                int64
	author            author
	paused            bool
	opensAt, closesAt int64 // 0 in a description
	labels            string
	given             map[string]string // by a description
	drawn             drawn             // of a sale with a draw, after an operator's edit
}

// author is who asked for a change, as far as it is stored, and why.
type author struct {
	actor, note string
	verified    bool
}

func (f *fields) author() (a author) {
	a.actor, a.note, a.verified = optional(f, "actor", f.text), optional(f, "note", f.text), f.mark("verified")
	f.failIf(f.has("actor") && (a.actor == "" || !isText(a.actor, 256)), "actor is not 1 to 256 printable characters")
	f.failIf(f.has("note") && (a.note == "" || !isText(a.note, 500)), "note is not 1 to 500 printable characters")
	return a
}

func readChange(it item) (c changeItem, problem string) {
	f := newFields(it)
	c = changeItem{id: f.id("id"), action: f.text("action"), at: f.instant("at"), author: f.author(), labels: f.labels(), given: map[string]string{}}
	f.id("call")
	c.number = f.numbered("")
	switch c.action {
	case "describe":
		for name, most := range map[string]int{"name": 200, "image": 500, "about": 500, "link": 500} {
			if f.has(name) {
				c.given[name] = f.text(name)
				f.failIf(!isText(strings.ReplaceAll(c.given[name], "\n", ""), most), fmt.Sprintf("%s is not at most %d printable characters", name, most))
			}
		}
		f.failIf(len(c.given) == 0, "it describes nothing")
	case "pause", "resume", "reschedule", "recall", "call":
		c.paused, c.opensAt, c.closesAt = f.flag("paused"), f.instant("opensAt"), f.instant("closesAt")
		f.window(c.opensAt, c.closesAt)
		switch action := c.action; {
		case action != "reschedule" && c.paused == (action == "resume" || action == "call"):
			f.fail("paused is not what its action leaves")
		case action != "recall" && action != "call" && f.has("operatedAt"):
			c.drawn = drawn{operatedAt: f.instant("operatedAt"), beginsAt: f.instant("beginsAt"), endsAt: f.instant("endsAt")}
		}
	default:
		f.fail("action is none of an edit")
	}
	return c, f.end()
}

// readTrail reads the sale's trail between the two reads of its own items: an edit is in both
// or in neither (P32).
func (p *pass) readTrail(ctx context.Context) error {
	return each(ctx, p, "CHANGES#"+p.saleID, func(it item) error {
		if c := sound(p, it, readChange); c.number > 0 {
			p.trail = append(p.trail, c)
			p.checkLabels("edit "+keyOf(it).sk, fmt.Sprintf("edit %d", c.number), c.labels)
		}
		return nil
	})
}

// judgeTrail follows the sale's edits, from its creation to what it is now.
func (p *pass) judgeTrail(h *header) {
	const promise = "P32"
	s, ids, next, described := &h.sale, map[string]int64{}, int64(1), int64(0)
	last := changeItem{action: "create", opensAt: h.create.opensAt, closesAt: h.create.closesAt}
	missing := func(before int64) {
		for ; next < before && next <= p.before.sale.edits && s.restoredAt == 0; next++ {
			p.find(promise, fmt.Sprint("edit ", next), "edit %d is not in the trail: nobody can say who made it", next)
		}
	}
	for _, c := range p.trail {
		about := fmt.Sprint("edit ", c.number)
		missing(c.number)
		next = c.number + 1
		if c.number > s.edits {
			p.find(promise, about, "the trail has an edit %d, but the sale has %d", c.number, s.edits)
			continue
		}
		if other := ids[c.id]; other > 0 {
			p.find(promise, about, "edits %d and %d have the id %q: it was applied twice", other, c.number, c.id)
		}
		ids[c.id] = c.number
		if c.action == "describe" {
			described++
			continue
		}
		p.findIf(c.at <= last.at, promise, about, "edit %d is of %s, and edit %d before it of %s", c.number, clock(c.at), last.number, clock(last.at))
		p.findIf(c.action == "recall" && p.still() && s.recalledAt != c.at && c.at > s.restoredAt+skew.Milliseconds(), promise, about,
			"the trail has a recall of %s, but the sale was recalled at %s", clock(c.at), clock(s.recalledAt))
		isKept := c.action == "call" || c.action == "reschedule" || c.opensAt == last.opensAt && c.closesAt == last.closesAt
		p.findIf(s.restoredAt == 0 && h.hasCreate && !isKept, promise, about, "edit %d in the trail, %s, leaves the window %s to %s, which was %s to %s", c.number, c.action,
			clock(c.opensAt), clock(c.closesAt), clock(last.opensAt), clock(last.closesAt))
		last = c
	}
	missing(p.before.sale.edits + 1)
	if !p.still() || !h.hasSale || !h.hasCreate || last.at <= s.restoredAt && s.restoredAt > 0 {
		return
	}
	p.findIf(described != s.described && s.restoredAt == 0, promise, "sale described", "the trail has %d descriptions, but the sale counts %d", described, s.described)
	p.findIf(last.at != s.changedAt || last.paused != s.paused || last.opensAt != s.opensAt || last.closesAt != s.closesAt, "P14", "trail last", "by its creation and its trail the sale is as of %s (%s, open %s to %s), but says that it is as of %s (%s, open %s to %s)",
		clock(last.at), pausedText(last.paused), clock(last.opensAt), clock(last.closesAt), clock(s.changedAt), pausedText(s.paused), clock(s.opensAt), clock(s.closesAt))
}

func pausedText(paused bool) string {
	if paused {
		return "paused"
	}
	return "not paused"
}
