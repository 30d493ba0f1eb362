package books

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

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

// hex is that many bytes in lower-case hexadecimal digits, zeros and a problem.
func (f *fields) hex(name string, size int) []byte {
	text := f.text(name)
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != size || hex.EncodeToString(b) != text {
		f.fail(fmt.Sprintf("%s is not %d lower-case hexadecimal digits", name, 2*size))
		return make([]byte, size)
	}
	return b
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

// readHead reads DRAW#<sale>, HEAD: a draw whose roll is closed.
func readHead(it item) (d rules.Draw, problem string) {
	f := newFields(it)
	_, d.SaleID, _ = cutKind(keyOf(it).pk)
	d.Roll, d.Entrants, d.Round = rules.Digest(f.hex("roll", sha256.Size)), f.within("entrants", 0, math.MaxInt64), uint64(f.positive("round"))
	d.ClosedAt = time.UnixMilli(f.instant("closedAt"))
	if f.has("seed") || f.has("signature") {
		d.Seed, d.Signature = rules.Digest(f.hex("seed", sha256.Size)), f.hex("signature", signatureBytes)
	}
	return d, f.end()
}

// callItem is DRAW#<sale>, CALL#<number>.
type callItem struct {
	rules.Call
	at int64
}

func readCall(it item) (c callItem, problem string) {
	f := newFields(it)
	c.From, c.Until, c.at = time.UnixMilli(f.instant("from")).UTC(), time.UnixMilli(f.instant("until")).UTC(), f.instant("at")
	c.Lo, c.Open = rules.Rank(f.hex("lo", rankBytes)), f.mark("open")
	c.Number = f.numbered("CALL#")
	f.window(c.From.UnixMilli(), c.Until.UnixMilli())
	if f.has("hi") {
		hi := rules.Rank(f.hex("hi", rankBytes))
		c.Hi = &hi
	}
	c.Stock = optional(f, "stock", f.between(0, math.MaxInt64))
	f.failIf(f.has("stock") && c.Hi == nil, "stock is there, but no hi")
	f.failIf(c.Hi != nil && !f.has("stock") && !c.CallsNobody(), "hi is there, but no stock")
	return c, f.end()
}

func (c *callItem) admits(at int64) bool { return c.From.UnixMilli() <= at && at < c.Until.UnixMilli() }

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

// readPart reads ROLL#<sale>, <page>#<part>: leaves of a page.
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
