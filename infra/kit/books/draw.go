package books

import (
	"fmt"
	"slices"

	"flashsale/infra/kit/drawcheck/rules"
)

const (
	// A page of a roll has a part for each value of the first two bits of the leaves' second byte.
	pageParts            = 4
	leafBytes, rankBytes = len(rules.Leaf{}), len(rules.Rank{})
)

func partOf(l rules.Leaf) int { return int(l[1] >> 6) }

// leafOf returns the leaf of a user, which only the holder of the key can compute.
func leafOf(leafKey []byte, user string) rules.Leaf {
	return rules.LeafOf(user, rules.NonceOf(leafKey, user))
}

// ends returns when a sale ends for everybody. begins is likewise.
func (s *saleItem) ends() int64 {
	if s.hasDraw() {
		return s.drawn.EndsAt
	}
	return s.ClosesAt
}

func (s *saleItem) begins() int64 {
	if s.hasDraw() {
		return s.drawn.BeginsAt
	}
	return s.OpensAt
}

// readHead reads DRAW#<sale>, HEAD: a draw whose roll is closed.
var readHead = reader("draw", func(f *fields, _ *rules.Draw) { f.together("seed", "signature") })

// callItem is DRAW#<sale>, CALL#<number>.
type callItem struct {
	rules.Call
	At int64
}

var readCall = reader("call", func(f *fields, c *callItem) {
	f.window(c.From.UnixMilli(), c.Until.UnixMilli())
	f.with("hi", "stock")
	f.failIf(c.Hi != nil && !f.has("stock") && !c.CallsNobody(), "hi is there, but no stock")
})

func (c *callItem) admits(at int64) bool { return c.From.UnixMilli() <= at && at < c.Until.UnixMilli() }

// leafKey is DRAWKEY#<sale>, KEY.
type leafKey struct{ LeafKey []byte }

var readLeafKey = reader("leaf key", func(f *fields, k *leafKey) {
	f.failIf(len(k.LeafKey) != 32, "leafKey is not 32 bytes")
})

// entry is ENTRY#<sale>#<page>, <user>: when the user entered.
type entry struct{ At int64 }

var readEntry = reader("entry", func(*fields, *entry) {})

// rollPart is ROLL#<sale>, <page>#<part>: leaves of a page.
type rollPart struct {
	Page, Part int
	Leaves     []byte
	leaves     []rules.Leaf
}

var readPart = reader("part", func(f *fields, p *rollPart) {
	f.failIf(len(p.Leaves)%leafBytes != 0, "leaves are not 32 bytes each")
	for leaves := range slices.Chunk(p.Leaves[:len(p.Leaves)/leafBytes*leafBytes], leafBytes) {
		l := rules.Leaf(leaves)
		f.failIf(int(l[0]) != p.Page || partOf(l) != p.Part, "it has a leaf of another part")
		p.leaves = append(p.leaves, l)
	}
})

func pageName(page int) string { return fmt.Sprintf("%02x", page) }
