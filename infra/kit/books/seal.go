package books

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strings"
)

// sealed is what a sale's item says of a sale that never sells again.
type sealed struct {
	sealedAt int64 // 0 if it is not
	erased   int64 // how many users were erased from it
	// archive is the digest of the archive that has its claims and orders, "" if there is none;
	// archivedAt is 0 while some of them may be left.
	archive                    string
	archivedClaims, archivedAt int64
}

func (f *fields) sealed() (s sealed) {
	s.sealedAt, s.erased = optional(f, "sealedAt", f.instant), optional(f, "erased", f.positive)
	f.failIf(s.erased != 0 && s.sealedAt == 0, "erased is there, but no sealedAt")
	if f.has("archive") {
		s.archive = hex.EncodeToString(f.hex("archive", sha256.Size))
		f.failIf(s.sealedAt == 0, "archive is there, but no sealedAt")
		f.hex("archivedKeys", sha256.Size)
		s.archivedClaims = f.within("archivedClaims", 0, math.MaxInt64)
		s.archivedAt = optional(f, "archivedAt", f.instant)
	}
	return s
}

// runArchived recounts a sale whose claims and orders are in an archive: what is left of it.
func (p *pass) runArchived(ctx context.Context) (err error) {
	p.after = p.before
	if p.shards0, err = p.readShards(ctx); err != nil {
		return err
	}
	p.shards1 = p.shards0
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
	sold := int64(0)
	for k, s := range p.shards0 {
		if s == nil {
			p.find("P2", shardName(k), "%s is missing", shardName(k))
			continue
		}
		if low, high := p.given(k); h.hasCreate && (s.seeded < low || s.seeded > high) {
			p.find("P15", shardName(k)+" seeded", "%s: it says that %d units were seeded, should be %d", shardName(k), s.seeded, high)
		}
		sold += s.seeded + s.putBack - s.stock
	}
	p.findIf(sold != h.sale.archivedClaims, "P2", "archived claims",
		"%d units were sold, but the archive has %d claims: %s", sold, h.sale.archivedClaims, difference(h.sale.archivedClaims-sold))
	switch {
	case h.sale.archivedAt == 0:
		p.unfinish("it is being archived, and %d claims are left: repeat make archive with the same file", left)
	case left > 0:
		p.find("P36", "archived left", "the sale was archived at %s, but %d claims are left", clock(h.sale.archivedAt), left)
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
	if p.erased++; p.erased > p.before.sale.erased {
		p.find("P36", "claim "+c.User+" erased", "the claim of %q is of an erased user, but the sale counts %d erasures", c.User, p.before.sale.erased)
	}
}

// judgeSealed compares the sale with its listing: a sealed sale is drained for ever.
func (p *pass) judgeSealed(h *header) {
	p.findIf(h.hasSale && h.listed && (h.sale.sealedAt != h.listing.sealedAt || h.sale.sealedAt != 0 && !h.listing.drained), "P36", "listing sealedAt",
		"the sale was sealed at %s, its listing at %s, and it is drained: %t", clock(h.sale.sealedAt), clock(h.listing.sealedAt), h.listing.drained)
	p.findIf(h.listing.sealedAt != 0 && (h.listing.noted || h.listing.releasing), "P36", "listing notes",
		"the sale is sealed, and its listing still notes how far a pass came: at a user, who may have been erased")
}
