package books

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"flashsale/infra/kit/drawcheck/rules"
)

const (
	maxKeepHours = 7 * 24
	// A page of a roll has a part for each value of the first two bits of the leaves' second byte.
	pageParts            = 4
	leafBytes, rankBytes = len(rules.Leaf{}), len(rules.Rank{})
	signatureBytes       = 48
)

func partOf(l rules.Leaf) int { return int(l[1] >> 6) }

// leafOf returns the leaf of a user, which only the holder of the key can compute.
func leafOf(leafKey []byte, user string) rules.Leaf {
	return rules.LeafOf(user, rules.NonceOf(leafKey, user))
}

// drawTerms are what a sale's creation asks of a draw; zero if there is none.
type drawTerms struct{ enterFrom, enterUntil, keepHours int64 }

func (f *fields) drawTerms() (t drawTerms) {
	if !f.has("enterFrom") && !f.has("enterUntil") && !f.has("keepHours") {
		return t
	}
	t = drawTerms{f.instant("enterFrom"), f.instant("enterUntil"), f.within("keepHours", 1, maxKeepHours)}
	f.failIf(t.enterFrom >= t.enterUntil, "enterUntil is not after enterFrom")
	return t
}

// drawn is what a sale item says of its draw besides the terms.
type drawn struct {
	beginsAt, endsAt int64
	call             int64 // 0 before the first
	openCall         bool
	operatedAt       int64 // 0 before the first edit by an operator or a schedule
}

func (f *fields) drawn(has bool) (d drawn) {
	if !has {
		return d
	}
	d.beginsAt, d.endsAt = f.instant("beginsAt"), f.instant("endsAt")
	f.window(d.beginsAt, d.endsAt)
	d.call, d.openCall, d.operatedAt = optional(f, "call", f.positive), f.mark("openCall"), optional(f, "operatedAt", f.instant)
	return d
}

// mark is a boolean that is true if it is there.
func (f *fields) mark(name string) bool {
	is := optional(f, name, f.flag)
	f.failIf(f.has(name) && !is, name+" is there and not true")
	return is
}

// hex is a string of that many bytes in lower-case hexadecimal digits.
func (f *fields) hex(name string, size int) string {
	text := f.text(name)
	b, err := hex.DecodeString(text)
	f.failIf(err != nil || len(b) != size || hex.EncodeToString(b) != text, fmt.Sprintf("%s is not %d lower-case hexadecimal digits", name, 2*size))
	return text
}

// digestFrom is a digest that hex has read; zero if that failed.
func digestFrom(text string) (d rules.Digest) {
	_ = d.UnmarshalText([]byte(text))
	return d
}

// ends returns when a sale ends for everybody. begins is likewise.
func (s *saleItem) ends() int64 {
	if s.hasDraw() {
		return s.drawn.endsAt
	}
	return s.closesAt
}

func (s *saleItem) begins() int64 {
	if s.hasDraw() {
		return s.drawn.beginsAt
	}
	return s.opensAt
}

// drawHead is DRAW#<sale>, HEAD: a draw whose roll is closed.
type drawHead struct {
	roll            string
	entrants, round int64
	closedAt        int64
	seed, signature string // "" until the dice are known
}

func readHead(it item) (d drawHead, problem string) {
	f := newFields(it)
	d = drawHead{
		roll: f.hex("roll", sha256.Size), entrants: f.within("entrants", 0, math.MaxInt64), round: f.positive("round"),
		closedAt: f.instant("closedAt"),
	}
	if f.has("seed") || f.has("signature") {
		d.seed, d.signature = f.hex("seed", sha256.Size), f.hex("signature", signatureBytes)
	}
	return d, f.end()
}

// callItem is DRAW#<sale>, CALL#<number>.
type callItem struct {
	number          int64
	from, until, at int64
	lo, hi          string // hi is "" until the call is complete
	open            bool
	stock           int64 // -1 if the call was given up
}

func readCall(it item) (c callItem, problem string) {
	f := newFields(it)
	c = callItem{from: f.instant("from"), until: f.instant("until"), at: f.instant("at"), lo: f.hex("lo", rankBytes), open: f.mark("open"), stock: -1}
	sk := keyOf(it).sk
	if n, err := strconv.ParseInt(strings.TrimPrefix(sk, "CALL#"), 10, 64); err == nil && n > 0 && fmt.Sprintf("CALL#%010d", n) == sk {
		c.number = n
	} else {
		f.fail("sk is no call")
	}
	f.failIf(c.from >= c.until, "until is not after from")
	if f.has("hi") {
		c.hi = f.hex("hi", rankBytes)
	}
	if f.has("stock") {
		c.stock = f.within("stock", 0, math.MaxInt64)
	}
	switch {
	case c.hi == "" && c.stock >= 0:
		f.fail("stock is there, but no hi")
	case c.hi != "" && c.stock < 0 && (c.hi != c.lo || c.open):
		f.fail("hi is there, but no stock")
	case c.open && c.hi != "" && c.hi != c.lo:
		f.fail("it is for anybody, and hi is not lo")
	case c.hi != "" && c.hi < c.lo:
		f.fail("hi is below lo")
	}
	return c, f.end()
}

// callsNobody reports whether the call has come to nothing.
func (c *callItem) callsNobody() bool { return !c.open && (c.hi == "" || c.hi == c.lo) }

// end is the highest rank that has been called when the call was complete, or given up.
func (c *callItem) end() string {
	if c.hi == "" {
		return c.lo
	}
	return c.hi
}

// calls reports whether the call is for a rank.
func (c *callItem) calls(rank string) bool { return c.hi != "" && c.lo < rank && rank <= c.hi }

func (c *callItem) admits(at int64) bool { return c.from <= at && at < c.until }

// readLeafKey reads DRAWKEY#<sale>, KEY.
func readLeafKey(it item) (leafKey []byte, problem string) {
	f := newFields(it)
	leafKey = f.binary("leafKey")
	f.failIf(len(leafKey) != sha256.Size, "leafKey is not 32 bytes")
	f.failIf(keyOf(it).sk != "KEY", "sk is not KEY")
	return leafKey, f.end()
}

// readEntry reads ENTRY#<sale>#<page>, <user>: when the user entered.
func readEntry(it item) (at int64, problem string) {
	f := newFields(it)
	at = f.instant("at")
	f.failIf(!isUser(keyOf(it).sk), "sk is no user id")
	return at, f.end()
}

// readPart reads ROLL#<sale>, <page>#<part>: leaves of a page, in order.
func readPart(it item) (page int, leaves []rules.Leaf, problem string) {
	f := newFields(it)
	text := f.binary("leaves")
	f.failIf(len(text)%leafBytes != 0, "leaves are not 32 bytes each")
	name, number, _ := strings.Cut(keyOf(it).sk, "#")
	page, onPage := pageOf(name)
	part, isPart := index(number)
	if !onPage || !isPart || part >= pageParts {
		f.fail("sk is no part of a page")
		return 0, nil, f.end()
	}
	for ; len(text) >= leafBytes; text = text[leafBytes:] {
		l := rules.Leaf(text[:leafBytes])
		f.failIf(int(l[0]) != page || partOf(l) != part, "it has a leaf of another part")
		if n := len(leaves); n > 0 && leaves[n-1].Compare(l) >= 0 {
			f.fail("its leaves are not in order, each once")
		}
		leaves = append(leaves, l)
	}
	return page, leaves, f.end()
}

// pageOf reads two lower-case hexadecimal digits.
func pageOf(name string) (page int, ok bool) {
	n, err := strconv.ParseUint(name, 16, 8)
	return int(n), err == nil && pageName(int(n)) == name
}

func pageName(page int) string { return fmt.Sprintf("%02x", page) }
