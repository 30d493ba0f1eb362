package books

import (
	"fmt"
	"slices"
	"time"
)

// still reports whether there was no edit, addition or withdrawal during the pass: only
// then must the sale's items and its shards agree.
func (p *pass) still() bool {
	a, b := &p.before, &p.after
	return a.sale.version == b.sale.version && a.sale.changedAt == b.sale.changedAt && a.sale.seeded == b.sale.seeded &&
		a.sale.state == b.sale.state && a.receipts == b.receipts && a.hasSale == b.hasSale
}

// judge compares the items that the pass has read.
func (p *pass) judge() {
	h := &p.after
	p.findIf(!h.hasSale, "P11", "sale", "the sale item is missing: to everybody this sale does not exist")
	p.findIf(!h.hasCreate, "P9", "create", "the CREATE item is missing: a repeat of the creation is not recognised, and what was seeded cannot be recounted")
	if h.hasSale && h.hasCreate {
		p.judgeSale(h)
	}
	if h.hasCreate {
		p.judgeSeedings(h)
	}
	p.judgeShards()
	p.judgeListing(h)
	p.judgePayments(h)
	p.judgeSealed(h)
	p.judgeRecall(h)
	p.judgeTrail(h)
	p.judgeDraw(h)
	p.judgeClaims(h)
}

// judgeSale compares the sale item with its creation and its additions.
func (p *pass) judgeSale(h *header) {
	s, c := &h.sale, &h.create
	p.findIf(s.shards != c.shards, "P2", "sale shards", "the sale has %d shards, but was created with %d", s.shards, c.shards)
	if want := (s.shards + 3) / 4; s.buckets != want {
		p.find("P3", "sale buckets", "the sale has %d buckets, should be %d (a quarter of %d shards)", s.buckets, want, s.shards)
	}
	p.findIf(s.restoredAt > 0 && min(s.version, s.edits) < restoreLeap, "P26", "sale restoredAt",
		"the sale was restored to %s, but has the version %d and %d edits, which did not leap: they have been given out before", clock(s.restoredAt), s.version, s.edits)
	p.findIf(s.described == 0 && s.shown != c.shown, "P15", "sale name", "the sale is shown as %+v, but was created as %+v and never described", s.shown, c.shown)
	if low, high := p.seeded(); s.seeded < low || s.seeded > high {
		p.find("P15", "sale seeded", "the sale says that %d units were seeded, should be %d (%s): %s",
			s.seeded, h.all(), sources(c.stock, sum(h.added), sum(h.withdrawn)), difference(s.seeded-h.all()))
	}
	switch low, high := p.room(); {
	case c.maxStock == 0 && s.room >= 0:
		p.find("P15", "sale room", "the sale has room for %d more units, but was created without a maxStock", s.room)
	case c.maxStock > 0 && s.room < 0:
		p.find("P15", "sale room", "the sale was created with a maxStock of %d, but does not say what room is left: nothing limits its additions", c.maxStock)
	case c.maxStock > 0 && (s.room < low || s.room > high):
		p.find("P15", "sale room", "the sale has room for %d more units, should be %d (a maxStock of %d): %s", s.room, low, c.maxStock, difference(s.room-low))
	}
	p.findIf(s.restoredAt == 0 && (p.before.sale.seedings > int64(len(h.seeds)) || s.seedings < int64(len(p.before.seeds))), "P32", "sale seedings",
		"the sale counts %d additions and withdrawals, but has %d: nobody can say who made the others", s.seedings, len(h.seeds))
	for k := range s.empty {
		p.findIf(k >= s.shards, "P6", "empty "+shardName(k), "shard %d is marked empty, but the sale has %d shards", k, s.shards)
	}
	if !p.still() {
		return
	}
	low, high := p.putBacks()
	// An edited sale may have more: an operator who corrects its empty shards by hand raises the version, too.
	if n := s.version - 1 - h.receipts - s.edits; s.restoredAt == 0 && (n < low || n > high && s.edits == 0) {
		p.find("P6", "sale version", "the sale's version is %d, should be %d to %d: 1 + %d receipts of additions and withdrawals + %d edits + %d to %d for units put back",
			s.version, s.version-n+low, s.version-n+high, h.receipts, s.edits, low, high)
	}
	p.findIf(s.changedAt > p.Now().Add(2*skew).UnixMilli(), "P14", "sale changedAt",
		"the sale was last edited at %s, which is in the future: no edit applies until then", clock(s.changedAt))
	if s.state == "DRAFT" {
		if p.total > 0 || s.changedAt > 0 || len(s.empty) > 0 || len(h.seeds) > 0 {
			p.find("P15", "sale state", "the sale is a DRAFT, but has claims, additions or edits: buyers do not see it")
			return
		}
		p.unfinish("the sale is a DRAFT, which buyers do not see: its creation is under way or was cut off; create it again")
	}
}

// difference describes by how many units a count is off.
func difference(n int64) string {
	if n < 0 {
		return fmt.Sprintf("%d too few", -n)
	}
	return fmt.Sprintf("%d too many", n)
}

// judgeShards compares each shard with the seedings, its claims and the sale.
func (p *pass) judgeShards() {
	missing, late := 0, 0
	for k := range p.n {
		s0, s := p.shards0[k], p.shards1[k]
		switch {
		case s == nil && p.after.sale.state == "DRAFT":
			missing++
			continue
		case s == nil:
			p.find("P2", shardName(k), "%s is missing, with %d claims of its units", shardName(k), p.claims[k])
			continue
		case s0 == nil:
			s0 = s // it was created between the reads
		}
		p.judgeStock(k, s0, s)
		if p.after.hasSale && p.still() && p.judgeEdit(k, s) {
			late++
		}
	}
	if missing > 0 {
		p.unfinish("%d of %d shards are still to be made", missing, p.n)
	}
	if late > 0 {
		p.unfinish("the edit of %s has not reached %d of %d shards: it is under way or was cut off; repeat it", clock(p.after.sale.changedAt), late, p.n)
	}
}

// judgeStock counts the units of one shard.
func (p *pass) judgeStock(k int, s0, s *shardItem) {
	name, claims := shardName(k), p.claims[k]
	low, high := p.given(k)
	if !p.after.hasCreate {
		low, high = s0.seeded, s.seeded
	}
	p.findIf(s.seeded < low || s.seeded > high, "P15", name+" seeded", "%s: it says that %d units were seeded, should be %d (%s): %s", name, s.seeded, high,
		sources(share(p.after.create.stock, k, p.n), p.after.added[k], p.after.withdrawn[k]), difference(s.seeded-high))
	p.findIf(s.stock < 0, "P1", name+" below zero", "%s: stock is %d, below zero", name, s.stock)
	if live := claims - p.released[k]; live > high {
		p.find("P1", name+" oversold", "%s: %d claims, but only %d units were seeded: %d oversold", name, live, high, live-high)
	}
	switch quiet, want := *s0 == *s && low == high, high-claims+s.putBack; {
	case quiet && s.stock != want:
		p.find("P2", name+" stock", "%s: stock is %d, should be %d (seeded %d - claims %d%s): %s", name, s.stock, want, high, claims, s.returned(),
			difference(s.stock-want))
	case !quiet && (claims < s0.sold() || claims > s.sold()):
		p.find("P2", name+" stock", "%s: %d to %d units were sold while it was counted, but it has %d claims", name, s0.sold(), s.sold(), claims)
	}
	p.findIf(s.stock > 0 && p.still() && p.before.sale.empty[k] && p.after.sale.empty[k], "P6", name+" empty",
		"%s has %d units but is marked empty: nobody can buy them", name, s.stock)
}

// sold is the number of claims that the shard's units have had.
func (s *shardItem) sold() int64 { return s.seeded - s.stock + s.putBack }

// returned is the part of an account that most shards do not have.
func (s *shardItem) returned() string {
	if s.putBack == 0 {
		return ""
	}
	return fmt.Sprintf(" + put back %d", s.putBack)
}

// judgeEdit compares the window and the pause flag of a shard with the sale's. It
// reports whether an edit has not reached the shard yet.
func (p *pass) judgeEdit(k int, s *shardItem) (late bool) {
	sale, name := &p.after.sale, shardName(k)
	switch {
	case s.changedAt > sale.changedAt:
		p.find("P14", name+" edit", "%s was last edited at %s, after the sale (%s): edits of the sale will not reach it", name, clock(s.changedAt), clock(sale.changedAt))
	case s.changedAt < sale.changedAt:
		if time.UnixMilli(sale.changedAt).After(p.Now().Add(-p.Overdue)) {
			return true
		}
		p.find("P14", name+" edit", "%s still is as the edit of %s left it (%s, open %s to %s), not as that of %s: repeat the last edit", name,
			clock(s.changedAt), pausedText(s.paused), clock(s.opensAt), clock(s.closesAt), clock(sale.changedAt))
	case s.paused != sale.paused:
		p.find("P14", name+" paused", "%s is %s, but the sale is %s", name, pausedText(s.paused), pausedText(sale.paused))
	case s.opensAt != sale.opensAt || s.closesAt != sale.closesAt:
		p.find("P14", name+" window", "%s is open from %s to %s, but the sale from %s to %s", name,
			clock(s.opensAt), clock(s.closesAt), clock(sale.opensAt), clock(sale.closesAt))
	}
	return false
}

// judgeListing compares the listing, from which reconcile gets its sales, with the
// sale.
func (p *pass) judgeListing(h *header) {
	if !h.hasSale {
		return
	}
	if !h.listed {
		p.find("P8", "listing", "the sale is not on the list of sales: reconcile neither audits it nor sends a lost message again")
		return
	}
	l := &h.listing
	// An edit may have come between the two reads of a header, but not of both.
	p.findIf(p.still() && l.closesAt == p.before.listing.closesAt && l.closesAt != h.sale.ends(), "P8", "listing closesAt",
		"the list of sales says that it closes at %s, the sale %s", clock(l.closesAt), clock(h.sale.ends()))
	if !l.drained || !p.before.listing.drained {
		return
	}
	p.findIf(p.Now().Add(skew).UnixMilli() < h.sale.ends()+drainAfter.Milliseconds(), "P8", "listing drained",
		"the sale is drained, but closes at %s: reconcile does not look at it any more", clock(h.sale.ends()))
	if n := p.pending + p.missing; n > 0 {
		p.find("P8", "listing orders", "the sale is drained with %d orders unfinished: nobody sends their messages again", n)
	}
}

// judgeClaims finds claims that are overdue or outside the windows.
func (p *pass) judgeClaims(h *header) {
	if age := p.Now().Sub(p.oldest); p.pending > 0 && age > p.Overdue {
		p.find("P8", "pending", "%d claims are pending, the oldest for %v: more than %v", p.pending, age.Round(time.Second), p.Overdue)
	}
	if p.missing > 0 {
		p.unfinish("%d confirmed claims have no order item yet", p.missing)
	}
	for _, c := range p.outside {
		if at := c.AcceptedAt.UnixMilli(); h.sale.restoredAt == 0 && !p.wasOpen(at) {
			p.find("P14", fmt.Sprintf("claim %d %s window", c.Bucket, c.User), "the claim of %q was accepted at %s, when the sale was not open", c.User, clock(at))
		}
	}
}

// wasOpen reports whether the sale has ever had a window with that instant in it. Each window but the first is in the trail.
func (p *pass) wasOpen(at int64) bool {
	isIn := func(c changeItem) bool { return c.opensAt <= at && at < c.closesAt }
	return p.after.admits(at) || slices.ContainsFunc(p.trail, isIn)
}

// receipt builds the receipt.
func (p *pass) receipt() *Receipt {
	now := p.Now()
	r := &Receipt{
		SaleID: p.saleID, AsOf: clock(now.UnixMilli()), Seeded: p.after.all(), Claims: p.total, Pending: p.pending,
		Confirmed: p.total - p.pending, Paid: p.paid, Unpaid: p.unpaid, RefundsDue: p.refundsDue, Balanced: len(p.found) == 0, Findings: append([]Finding{}, p.found[:min(len(p.found), maxFindings)]...),
		Unfinished: append([]string{}, p.unfinished...), NotLookedFor: []string{}, ReadUnits: p.cost(),
	}
	for _, s := range p.shards1 {
		if s != nil {
			r.Stock += s.stock
		}
	}
	for _, n := range p.released {
		r.Released += n
	}
	if p.pending > 0 {
		r.OldestPendingSeconds = max(0, int64(now.Sub(p.oldest)/time.Second))
	}
	if more := len(p.found) - maxFindings; more > 0 {
		r.Findings = append(r.Findings, Finding{p.found[maxFindings].Promise, fmt.Sprintf("and %d more", more)})
	}
	if s := p.after.sale; s.archive != "" {
		r.Archive, r.ArchivedClaims = s.archive, s.archivedClaims
		if s.archivedAt != 0 {
			r.ArchivedAt = clock(s.archivedAt)
		}
		r.NotLookedFor = append(r.NotLookedFor, "claims, orders, refunds, the trail and the draw: they balanced before they were archived, and the archive has them")
		return r
	}
	if p.whyNoScan != "" {
		r.NotLookedFor = append(r.NotLookedFor, "orders that no claim knows, shards and claims beyond the sale's, sales that are not listed and items that belong to no sale: "+p.whyNoScan)
	}
	if !p.still() {
		r.NotLookedFor = append(r.NotLookedFor, "whether the shards agree with the sale's window, pause flag and empty set: it was edited, added to or withdrawn from during the count")
	}
	if p.total > maxDoubles {
		r.NotLookedFor = append(r.NotLookedFor, fmt.Sprintf("equal claim ids, order numbers and payments among more than %d claims", maxDoubles))
	}
	if len(p.days) == maxDays {
		r.NotLookedFor = append(r.NotLookedFor, fmt.Sprintf("sequences of more than %d days", maxDays))
	}
	return r
}
