package books

import (
	"math"
	"strings"
)

// sealed is what a sale's item says of a sale that never sells again.
type sealed struct {
	sealedAt int64 // 0 if it is not
	erased   int64 // how many users were erased from it
}

func (f *fields) sealed() (s sealed) {
	if f.has("sealedAt") {
		s.sealedAt = f.instant("sealedAt")
	}
	if f.has("erased") {
		if s.erased = f.within("erased", 1, math.MaxInt64); s.sealedAt == 0 {
			f.fail("erased is there, but no sealedAt")
		}
	}
	return s
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
	if h.hasSale && h.listed && (h.sale.sealedAt != h.listing.sealedAt || h.sale.sealedAt != 0 && !h.listing.drained) {
		p.find("P36", "listing sealedAt", "the sale was sealed at %s, its listing at %s, and it is drained: %t", clock(h.sale.sealedAt), clock(h.listing.sealedAt), h.listing.drained)
	}
}
