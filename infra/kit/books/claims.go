package books

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// readClaims reads every claim of every bucket, page by page, and the orders of
// each page.
func (p *pass) readClaims(ctx context.Context) error {
	about := int64(0)
	for _, s := range p.shards0 {
		if s != nil {
			about += s.sold()
		}
	}
	for i := range p.doubles { // growing, each would be in memory twice
		p.doubles[i].sums = make([]uint64, 0, max(0, min(about, maxDoubles)))
	}
	for bucket := range p.buckets {
		err := p.partition(ctx, p.claimPK(bucket), 0, func(items []item) error {
			claims := make([]Claim, len(items))
			for i, it := range items {
				var problem string
				claims[i], problem = readClaim(it)
				claims[i].User, claims[i].Bucket = keyOf(it).sk, bucket // of whatever form
				p.malformed(it, problem)
				p.take(claims[i], problem == "")
			}
			p.Progress(p.total, max(about, p.total))
			return cmp.Or(p.checkPaid(ctx, claims), p.checkBarred(ctx, claims), p.checkOrders(ctx, claims))
		})
		if err != nil {
			return err
		}
	}
	p.findDoubles(claimIDs)
	p.findDoubles(orderNumbers)
	return nil
}

// take counts one claim and checks its attributes.
func (p *pass) take(c Claim, sound bool) {
	p.total++
	about := func(what string) string { return fmt.Sprintf("claim %d %s %s", c.Bucket, c.User, what) }
	if c.Shard < p.n {
		p.sold[c.Shard] += c.Count()
	} else {
		p.find("P2", about("shard"), "the claim of %q names shard %d, but the sale has %d", c.User, c.Shard, p.n)
	}
	if right := bucketOf(c.User, p.buckets); c.Bucket != right {
		p.find("P3", about("bucket"), "a claim of %q lies in bucket %d, where nobody looks for it; the user's bucket is %d", c.User, c.Bucket, right)
	}
	if c.OrderID == "" {
		if p.pending++; p.pending == 1 || c.AcceptedAt.Before(p.oldest) {
			p.oldest = c.AcceptedAt
		}
	}
	if !sound {
		return
	}
	p.compare(claimIDs, hashOf(c.ClaimID), c.owner)
	p.settle(c)
	p.findIf(c.Count() > max(1, p.lasting().MaxPerOrder), "P40", about("units"), "the claim of %q has %d units, but an order of the sale has at most %d", c.User, c.Units, max(1, p.lasting().MaxPerOrder))
	if c.Labels != p.lasting().Labels {
		p.checkLabels(about("claim"), c.owner(), c.Labels)
	}
	asks := p.lasting().terms
	if want := (claimTerms{asks.PayWithin, asks.Price, asks.Currency, true}); c.saysTerms && c.claimTerms != want {
		p.find("P26", about("payWithin"), "the claim of %q says that %s, but its sale that %s: its events are wrong", c.User, c.claimTerms, want)
	}
	p.takeErased(c)
	now := p.Now()
	at := c.AcceptedAt.UnixMilli()
	if c.AcceptedAt.After(now.Add(skew)) {
		p.find("P14", about("acceptedAt"), "the claim of %q was accepted at %s, which is in the future", c.User, clock(at))
	} else if p.lasting().hasDraw() {
		p.takeTurn(c)
	} else if !p.before.admits(at) {
		if len(p.outside) < remembered {
			p.outside = append(p.outside, c)
		}
	}
	if c.ResentAt != 0 {
		if resent := time.UnixMilli(c.ResentAt); resent.Before(c.AcceptedAt.Add(resendGrace-skew)) || resent.After(now.Add(skew)) {
			p.find("P17", about("resentAt"), "the message of %q, accepted at %s, was sent again at %s", c.User, clock(at), clock(c.ResentAt))
		}
	}
	if c.OrderID == "" {
		return
	}
	if second := secondOf(c.orderID); second.Before(c.AcceptedAt.Add(-skew).Truncate(time.Second)) || second.After(now.Add(skew)) {
		p.find("P7", about("second"), "order %s of %q says that it was confirmed at %s, but its claim was accepted at %s",
			c.OrderID, c.User, clock(second.UnixMilli()), clock(at))
	}
	p.compare(orderNumbers, dayAndNumber(c.orderID), c.owner)
	day := dayOf(c.orderID)
	if high, known := p.days[day]; (known || len(p.days) < maxDays) && numberOf(c.orderID) > numberOf(high) {
		p.days[day] = c.orderID
	}
}

// admits reports whether an instant of acceptance is within a window stored in the
// header.
func (h *header) admits(at int64) bool {
	return h.hasSale && h.sale.OpensAt <= at && at < h.sale.ClosesAt ||
		h.hasCreate && h.create.OpensAt <= at && at < h.create.ClosesAt
}

// What no two claims have in common, and no two payments. See uniques.
const (
	claimIDs = iota
	orderNumbers
	payments
)

var uniques = [...]struct{ promise, finding string }{
	claimIDs:     {"P13", "claims have the same claimId"},
	orderNumbers: {"P7", "claims have the same number of a day in their order ids"},
	payments:     {"P24", "claims and refunds have the same payment"},
}

// doubles detects one of the uniques that occurs twice in a count. The owners are recorded
// only of what the first pass found twice.
type doubles struct {
	sums   []uint64
	owners map[uint64][]string
	twice  map[uint64]bool
}

// compare records one of the uniques, as a number or the hash of a text.
func (p *pass) compare(unique int, sum uint64, owner func() string) {
	d := &p.doubles[unique]
	if len(d.sums) < maxDoubles {
		d.sums = append(d.sums, sum)
	}
	if p.first != nil && p.first.doubles[unique].twice[sum] {
		if d.owners == nil {
			d.owners = map[uint64][]string{}
		}
		d.owners[sum] = append(d.owners[sum], owner())
	}
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text) // writing to a hash never fails
	return h.Sum64()
}

// owner names the claim in a finding.
func (c Claim) owner() string { return fmt.Sprintf("the claim of %q", c.User) }

// findDoubles records a finding for each that occurs twice.
func (p *pass) findDoubles(unique int) {
	d, of := &p.doubles[unique], uniques[unique]
	slices.Sort(d.sums)
	d.twice = map[uint64]bool{}
	for i := 1; i < len(d.sums); i++ {
		if sum := d.sums[i]; sum == d.sums[i-1] && !d.twice[sum] && len(d.twice) < remembered {
			d.twice[sum] = true
			owners := d.owners[sum]
			p.find(of.promise, fmt.Sprint("double ", unique, sum), "%d %s: %s", len(owners), of.finding, strings.Join(owners[:min(len(owners), 5)], ", "))
		}
	}
	d.sums = nil
}

// checkOrders checks the orders of a page of claims. An order that names its claim
// belongs to that claim alone, so ids are unique if all do.
func (p *pass) checkOrders(ctx context.Context, claims []Claim) error {
	confirmed := slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool { return c.OrderID == "" })
	orderOf := func(c Claim) key { return key{"ORDER#" + c.OrderID, "ORDER"} }
	return lookUp(ctx, p, confirmed, orderOf, func(c Claim, it item) {
		about := func() string { return fmt.Sprintf("claim %d %s order", c.Bucket, c.User) }
		if it == nil {
			if p.missing++; secondOf(c.orderID).Before(p.Now().Add(-p.Overdue)) {
				p.find("P7", about(), "order %s of %q has no order item", c.OrderID, c.User)
			}
			return
		}
		o := sound(p, it, readOrder)
		p.findIf(o.SaleID != p.saleID || o.User != c.User || o.ClaimID != c.ClaimID, "P7", about(),
			"order %s of %q (claim %s) names sale %q, user %q and claim %s", c.OrderID, c.User, c.ClaimID, o.SaleID, o.User, o.ClaimID)
	})
}

// readSequences checks that no order id is ahead of its day's sequence: the next order would get the same number.
func (p *pass) readSequences(ctx context.Context) error {
	days := slices.Sorted(maps.Keys(p.days))
	return lookUp(ctx, p, days, func(day string) key { return key{"SEQ#" + day, "SEQ"} }, func(day string, it item) {
		id := p.days[day]
		if it == nil {
			p.find("P7", "sequence "+day, "the sequence of %s is missing, but order %d has number %d of that day: the number will be given again", day, id, numberOf(id))
			return
		}
		next, problem := readSequence(it)
		p.malformed(it, problem)
		p.findIf(problem == "" && next.Next < numberOf(id), "P7", "sequence "+day,
			"the sequence of %s stands at %d, but order %d has number %d of that day: the number will be given again", day, next.Next, id, numberOf(id))
	})
}

// clock formats an instant as the API does.
func clock(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}
