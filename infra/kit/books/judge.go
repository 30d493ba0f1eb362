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
	return a.sale.Version == b.sale.Version && a.sale.ChangedAt == b.sale.ChangedAt && a.sale.Seeded == b.sale.Seeded &&
		a.sale.State == b.sale.State && a.receipts == b.receipts && a.hasSale == b.hasSale
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
	p.judgeCancelled(h)
	p.judgeTrail(h)
	p.judgeHasty(h)
	p.judgeDraw(h)
	p.judgeClaims(h)
}

// judgeSale compares the sale item with its creation and its additions.
func (p *pass) judgeSale(h *header) {
	s, c := &h.sale, &h.create
	p.findIf(s.lasting != c.lasting, "P15", "sale lasting", "the sale has %+v, but was created with %+v: nothing changes that", s.lasting, c.lasting)
	p.findIf(s.Shards != c.Shards, "P2", "sale shards", "the sale has %d shards, but was created with %d", s.Shards, c.Shards)
	buckets := (s.Shards + 3) / 4
	p.findIf(s.Buckets != buckets, "P3", "sale buckets", "the sale has %d buckets, should be %d (a quarter of %d shards)", s.Buckets, buckets, s.Shards)
	p.findIf(s.RestoredAt > 0 && min(s.Version, s.Edits) < restoreLeap, "P26", "sale restoredAt",
		"the sale was restored to %s, but has the version %d and %d edits, which did not leap: they have been given out before", clock(s.RestoredAt), s.Version, s.Edits)
	p.findIf(s.Described == 0 && s.presentation != c.presentation, "P15", "sale name", "the sale is shown as %+v, but was created as %+v and never described", s.presentation, c.presentation)
	if low, high := p.seeded(); s.Seeded < low || s.Seeded > high {
		p.find("P15", "sale seeded", "the sale says that %d units were seeded, should be %d (%s): %s",
			s.Seeded, h.all(), fmt.Sprintf(sources, c.Stock, sum(h.added), sum(h.withdrawn)), difference(s.Seeded-h.all()))
	}
	switch low, high := p.room(); {
	case c.MaxStock == 0 && s.Room >= 0:
		p.find("P15", "sale room", "the sale has room for %d more units, but was created without a maxStock", s.Room)
	case c.MaxStock > 0 && s.Room < 0:
		p.find("P15", "sale room", "the sale was created with a maxStock of %d, but does not say what room is left: nothing limits its additions", c.MaxStock)
	case c.MaxStock > 0 && (s.Room < low || s.Room > high):
		p.find("P15", "sale room", "the sale has room for %d more units, should be %d (a maxStock of %d): %s", s.Room, low, c.MaxStock, difference(s.Room-low))
	}
	p.findIf(s.RestoredAt == 0 && (p.before.sale.Seedings > int64(len(h.seeds)) || s.Seedings < int64(len(p.before.seeds))), "P32", "sale seedings",
		"the sale counts %d additions and withdrawals, but has %d: nobody can say who made the others", s.Seedings, len(h.seeds))
	for k := range s.Empty {
		p.findIf(k >= s.Shards, "P6", "empty "+shardName(k), "shard %d is marked empty, but the sale has %d shards", k, s.Shards)
	}
	if !p.still() {
		return
	}
	low, high := p.putBacks()
	// An edited sale may have more: an operator who corrects its empty shards by hand raises the version, too.
	if n := s.Version - 1 - h.receipts - s.Edits - s.Cancelled; s.RestoredAt == 0 && (n < low || n > high && s.Edits == 0) {
		p.find("P6", "sale version", "the sale's version is %d, should be %d to %d: 1 + %d receipts of additions and withdrawals + %d edits + %d cancelled orders + %d to %d for units put back",
			s.Version, s.Version-n+low, s.Version-n+high, h.receipts, s.Edits, s.Cancelled, low, high)
	}
	p.findIf(s.ChangedAt > p.Now().Add(2*skew).UnixMilli(), "P14", "sale changedAt",
		"the sale was last edited at %s, which is in the future: no edit applies until then", clock(s.ChangedAt))
	if s.State == "DRAFT" {
		if p.total > 0 || s.ChangedAt > 0 || len(s.Empty) > 0 || len(h.seeds) > 0 {
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
		case s == nil && p.after.sale.State == "DRAFT":
			missing++
			continue
		case s == nil:
			p.find("P2", shardName(k), "%s is missing, with claims of %d of its units", shardName(k), p.sold[k])
			continue
		case s0 == nil:
			s0 = s // it was created between the reads
		}
		p.judgeStock(k, s0, s)
		p.judgeReleased(k, s0, s)
		if p.after.hasSale && p.still() && p.judgeEdit(k, s) {
			late++
		}
	}
	p.judgeMoved()
	p.unfinishIf(missing > 0, "%d of %d shards are still to be made", missing, p.n)
	p.unfinishIf(late > 0, "the edit of %s has not reached %d of %d shards: it is under way or was cut off; repeat it", clock(p.after.sale.ChangedAt), late, p.n)
}

// judgeStock counts the units of one shard.
func (p *pass) judgeStock(k int, s0, s *shardItem) {
	name, sold := shardName(k), p.sold[k]
	low, high := p.given(k)
	if !p.after.hasCreate {
		low, high = s0.Seeded, s.Seeded
	}
	p.findIf(s.Seeded < low || s.Seeded > high, "P15", name+" seeded", "%s: it says that %d units were seeded, should be %d (%s): %s", name, s.Seeded, high,
		fmt.Sprintf(sources, share(p.after.create.Stock, k, p.n), p.after.added[k], p.after.withdrawn[k]), difference(s.Seeded-high))
	p.findIf(s.Stock < 0, "P1", name+" below zero", "%s: stock is %d, below zero", name, s.Stock)
	live, most := sold-p.released[k], high+max(s0.Moved, s.Moved)
	p.findIf(live > most, "P1", name+" oversold", "%s: claims of %d units, but only %d were seeded or moved to it: %d oversold", name, live, most, live-most)
	switch quiet, want := *s0 == *s && low == high, high-sold+s.PutBack+s.Moved; {
	case quiet && s.Stock != want:
		p.find("P2", name+" stock", "%s: stock is %d, should be %d (seeded %d - claims %d + put back %d%s): %s", name, s.Stock, want, high, sold, s.PutBack,
			movedTo(s.Moved), difference(s.Stock-want))
	case !quiet && (sold < s0.sold() || sold > s.sold()):
		p.find("P2", name+" stock", "%s: %d to %d units were sold while it was counted, but it has claims of %d", name, s0.sold(), s.sold(), sold)
	}
	p.findIf(s.Stock > 0 && p.still() && p.before.sale.Empty[k] && p.after.sale.Empty[k], "P6", name+" empty",
		"%s has %d units but is marked empty: nobody can buy them", name, s.Stock)
}

// unitsOf is the stock of all shards that are there.
func unitsOf(shards []*shardItem) (units int64) {
	for _, s := range shards {
		if s != nil {
			units += s.Stock
		}
	}
	return units
}

// sold is how many units the shard's claims have had.
func (s *shardItem) sold() int64 { return s.Seeded - s.Stock + s.PutBack + s.Moved }

// movedTo names the units that were moved to a shard, if any were.
func movedTo(units int64) string {
	if units == 0 {
		return ""
	}
	return fmt.Sprintf(" + moved %d", units)
}

// judgeMoved checks that no unit is lost or made between the shards of the sale: none was read while it changed.
func (p *pass) judgeMoved() {
	moved, quiet, gives := int64(0), true, false
	for k, s := range p.shards1 {
		if s == nil || p.shards0[k] == nil || *p.shards0[k] != *s {
			quiet = false
			continue
		}
		moved, gives = moved+s.Moved, gives || s.Moved != 0
	}
	p.findIf(quiet && moved != 0, "P2", "moved", "%d more units were moved to shards than from others", moved)
	p.findIf(gives && p.lasting().MaxPerOrder == 0, "P40", "moved for nobody", "units were moved between shards, but an order of the sale has one")
}

// judgeEdit compares what the last edit left of a shard and of the sale. It reports whether an edit has not reached
// the shard yet.
func (p *pass) judgeEdit(k int, s *shardItem) (late bool) {
	sale, name := p.after.sale.edited, shardName(k)
	late = s.ChangedAt < sale.ChangedAt
	switch {
	case late && time.UnixMilli(sale.ChangedAt).After(p.Now().Add(-p.Overdue)):
		return true
	case late:
		p.find("P14", name+" edit", "%s still is %s, but the sale %s: repeat the last edit", name, s.edited, sale)
	case s.ChangedAt > sale.ChangedAt:
		p.find("P14", name+" edit", "%s is %s, after the sale (%s): edits of the sale will not reach it", name, s.edited, clock(sale.ChangedAt))
	case s.edited != sale:
		p.find("P14", name+" edit", "%s is %s, but the sale %s", name, s.edited, sale)
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
	for _, of := range []struct {
		promise, name string
		listed, is    any
	}{
		{"P19", "minReader", l.MinReader, p.needs()},
		{"P22", "payWithin", l.PayWithin, h.sale.PayWithin},
		{"P26", "labels", l.Labels, h.sale.Labels},
		{"P31", "draw", l.Draw, h.sale.hasDraw()},
	} {
		p.findIf(of.listed != of.is, of.promise, "listing "+of.name, "the list of sales says %s %#v, the sale %#v", of.name, of.listed, of.is)
	}
	// An edit may have come between the two reads of a header, but not of both.
	p.findIf(p.still() && l.ClosesAt == p.before.listing.ClosesAt && l.ClosesAt != h.sale.ends(), "P8", "listing closesAt",
		"the list of sales says that it closes at %s, the sale %s", clock(l.ClosesAt), clock(h.sale.ends()))
	if !l.Drained || !p.before.listing.Drained {
		return
	}
	p.findIf(p.Now().Add(skew).UnixMilli() < h.sale.ends()+drainAfter.Milliseconds(), "P8", "listing drained",
		"the sale is drained, but closes at %s: reconcile does not look at it any more", clock(h.sale.ends()))
	n := p.pending + p.missing
	p.findIf(n > 0, "P8", "listing orders", "the sale is drained with %d orders unfinished: nobody sends their messages again", n)
}

// judgeClaims finds claims that are overdue or outside the windows.
func (p *pass) judgeClaims(h *header) {
	age := p.Now().Sub(p.oldest)
	p.findIf(p.pending > 0 && age > p.Overdue, "P8", "pending", "%d claims are pending, the oldest for %v: more than %v", p.pending, age.Round(time.Second), p.Overdue)
	p.unfinishIf(p.missing > 0, "%d confirmed claims have no order item yet", p.missing)
	for _, c := range p.outside {
		if at := c.AcceptedAt.UnixMilli(); h.sale.RestoredAt == 0 && !p.wasOpen(at) {
			p.find("P14", fmt.Sprintf("claim %d %s window", c.Bucket, c.User), "the claim of %q was accepted at %s, when the sale was not open", c.User, clock(at))
		}
	}
}

// wasOpen reports whether the sale has ever had a window with that instant in it. Each window but the first is in the trail.
func (p *pass) wasOpen(at int64) bool {
	isIn := func(c changeItem) bool { return c.OpensAt <= at && at < c.ClosesAt }
	return p.after.admits(at) || slices.ContainsFunc(p.trail, isIn)
}

// receipt builds the receipt.
func (p *pass) receipt() *Receipt {
	now := p.Now()
	r := &Receipt{
		SaleID: p.saleID, AsOf: clock(now.UnixMilli()), Seeded: p.after.all(), Claims: p.total, Pending: p.pending,
		Confirmed: p.total - p.pending, Paid: p.paid, Unpaid: p.unpaid, RefundsDue: p.refundsDue, Balanced: len(p.found) == 0, Findings: append([]Finding{}, p.found[:min(len(p.found), maxFindings)]...),
		Stock:      unitsOf(p.shards1),
		Unfinished: append([]string{}, p.unfinished...), NotLookedFor: []string{}, ReadUnits: p.cost(),
	}
	for _, units := range p.released {
		r.Released += units
	}
	if p.lasting().MaxPerOrder != 0 {
		r.ReleasedClaims = p.releasedClaims
		for _, units := range p.sold {
			r.Units += units
		}
	}
	if p.pending > 0 {
		r.OldestPendingSeconds = max(0, int64(now.Sub(p.oldest)/time.Second))
	}
	if more := len(p.found) - maxFindings; more > 0 {
		r.Findings = append(r.Findings, Finding{p.found[maxFindings].Promise, fmt.Sprintf("and %d more", more)})
	}
	if s := p.after.sale; s.Archive != "" {
		r.Archive, r.ArchivedClaims = s.Archive, s.ArchivedClaims
		if s.ArchivedAt != 0 {
			r.ArchivedAt = clock(s.ArchivedAt)
		}
		r.NotLookedFor = append(r.NotLookedFor, "claims, orders, refunds, the trail and the draw: they balanced before they were archived, and the archive has them")
		return r
	}
	for _, left := range []struct {
		is   bool
		what string
	}{
		{p.whyNoScan != "", "orders that no claim knows, shards and claims beyond the sale's, sales that are not listed and items that belong to no sale: " + p.whyNoScan},
		{!p.still(), "whether the shards agree with the sale's window, pause flag and empty set: it was edited, added to or withdrawn from during the count"},
		{p.total > maxDoubles, fmt.Sprintf("equal claim ids, order numbers and payments among more than %d claims", maxDoubles)},
		{len(p.days) == maxDays, fmt.Sprintf("sequences of more than %d days", maxDays)},
	} {
		if left.is {
			r.NotLookedFor = append(r.NotLookedFor, left.what)
		}
	}
	return r
}

// checkLabels compares the labels of a claim, a refund or a change with the sale's.
func (p *pass) checkLabels(about, what, labels string) {
	of := p.lasting().Labels
	p.findIf(labels != of, "P26", about+" labels", "%s has the labels %q, but its sale %q: the events differ", what, labels, of)
}
