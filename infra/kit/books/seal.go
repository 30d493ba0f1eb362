package books

import (
	"context"
	"strings"
)

// runArchived recounts a sale whose claims and orders are in an archive: what is left of it.
func (p *pass) runArchived(ctx context.Context) (err error) {
	p.after = p.before
	if p.shards0, err = p.readShards(ctx); err != nil {
		return err
	}
	p.shards1 = p.shards0
	if err := p.readCancelledOrders(ctx); err != nil {
		return err
	}
	left := int64(0)
	for bucket := range p.buckets {
		if err := p.partition(ctx, p.claimPK(bucket), 0, func(items []item) error { left += int64(len(items)); return nil }); err != nil {
			return err
		}
	}
	h := &p.after
	if h.hasCreate {
		p.judgeSale(h)
		p.judgeSeedings(h)
	}
	p.judgeSealed(h)
	p.judgeCancelled(h)
	sold := int64(0)
	for k, s := range p.shards0 {
		if s == nil {
			p.find("P2", shardName(k), "%s is missing", shardName(k))
			continue
		}
		if low, high := p.given(k); h.hasCreate && (s.Seeded < low || s.Seeded > high) {
			p.find("P15", shardName(k)+" seeded", "%s: it says that %d units were seeded, should be %d", shardName(k), s.Seeded, high)
		}
		sold += s.sold()
	}
	archived := h.sale.ArchivedClaims
	if most := p.lasting().MaxPerOrder; most != 0 {
		archived = h.sale.ArchivedUnits
		p.findIf(archived < h.sale.ArchivedClaims || archived > most*h.sale.ArchivedClaims, "P40", "archived units",
			"the archive has %d claims of %d units, but each has 1 to %d", h.sale.ArchivedClaims, archived, most)
	}
	p.findIf(sold != archived, "P2", "archived claims", "%d units were sold, but the archive has claims of %d: %s", sold, archived, difference(archived-sold))
	switch {
	case h.sale.ArchivedAt == 0:
		p.unfinish("it is being archived, and %d claims are left: repeat flashsale books prune with the same file", left)
	case left > 0:
		p.find("P36", "archived left", "the sale was archived at %s, but %d claims are left", clock(h.sale.ArchivedAt), left)
	}
	return nil
}

// isErased reports whether a user is a random id in the place of an erased one.
func isErased(user string) bool { return strings.HasPrefix(user, "erased-") }

// takeErased counts the claims of erased users.
func (p *pass) takeErased(c Claim) {
	if !isErased(c.User) {
		return
	}
	if p.erased++; p.erased > p.before.sale.Erased {
		p.find("P36", "claim "+c.User+" erased", "the claim of %q is of an erased user, but the sale counts %d erasures", c.User, p.before.sale.Erased)
	}
}

// judgeSealed compares the sale with its listing: a sealed sale stays drained.
func (p *pass) judgeSealed(h *header) {
	p.findIf(h.hasSale && h.listed && (h.sale.SealedAt != h.listing.SealedAt || h.sale.SealedAt != 0 && !h.listing.Drained), "P36", "listing sealedAt",
		"the sale was sealed at %s, its listing at %s, and it is drained: %t", clock(h.sale.SealedAt), clock(h.listing.SealedAt), h.listing.Drained)
	p.findIf(h.listing.SealedAt != 0 && (h.listing.noted || h.listing.releasing), "P36", "listing notes",
		"the sale is sealed, and its listing still notes how far a pass came: at a user, who may have been erased")
}
