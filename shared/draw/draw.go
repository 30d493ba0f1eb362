// Package draw is the arithmetic of a draw: the entries of those who take part, the roll that
// they are on, and the order that public dice give them. It has no state and reads no clock.
//
// Everything after the entry follows from what is public: the leaves, the sale's id and the
// signature of a round of a randomness beacon. Whoever has these computes the same order.
package draw

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Pages is the number of a roll's pages: one for each first byte of a leaf.
const Pages = 256

type (
	// Nonce makes the leaf of a user one that nobody else can compute. Its owner gets it on
	// entering.
	Nonce [sha256.Size]byte
	// Leaf is a user on a roll. It says nothing about the user without the nonce.
	Leaf [sha256.Size]byte
	// Digest is of a page, of a roll, or what the dice made of a roll: its seed.
	Digest [sha256.Size]byte
	// Rank is a leaf's place: those with lower ranks are called first. Two leaves of a roll
	// have the same rank with a probability below 2^-80, even if the roll has millions.
	Rank [16]byte
)

// NonceOf returns the nonce of a user. It needs the sale's leaf key, so that nobody can tell
// from a roll whether somebody whose name is known has entered.
func NonceOf(leafKey []byte, user string) (n Nonce) {
	h := hmac.New(sha256.New, leafKey)
	h.Write([]byte(user))
	h.Sum(n[:0])
	return n
}

// LeafOf returns a user's leaf. It contains the user, so that two users cannot own one leaf: a
// nonce that fits another user's leaf cannot be found.
func LeafOf(user string, n Nonce) Leaf {
	return sha256.Sum256(slices.Concat([]byte(user), []byte{0}, n[:]))
}

// Page returns the number of the page that the leaf belongs to.
func (l Leaf) Page() byte { return l[0] }

// Compare orders leaves as they are on a page.
func (l Leaf) Compare(other Leaf) int { return bytes.Compare(l[:], other[:]) }

// PageDigest returns the digest of a page, whose leaves must be in order. That of an empty page
// is the digest of no bytes.
func PageDigest(leaves []Leaf) (d Digest) {
	h := sha256.New()
	for _, l := range leaves {
		h.Write(l[:])
	}
	h.Sum(d[:0])
	return d
}

// RollDigest returns the digest of a roll from those of its pages.
func RollDigest(pages *[Pages]Digest) (d Digest) {
	h := sha256.New()
	for _, page := range pages {
		h.Write(page[:])
	}
	h.Sum(d[:0])
	return d
}

// Check reports why leaves are not the given page of a roll: each leaf must begin with the
// page's number and be above the one before it. A leaf that is there twice would count as two
// people.
func Check(page byte, leaves []Leaf) error {
	for i, l := range leaves {
		if l.Page() != page {
			return fmt.Errorf("leaf %s is not of page %02x", l, page)
		}
		if i > 0 && leaves[i-1].Compare(l) >= 0 {
			return fmt.Errorf("leaf %s of page %02x is not above the one before it", l, page)
		}
	}
	return nil
}

// Join returns leaves as one piece, without anything between them.
func Join(leaves []Leaf) []byte {
	text := make([]byte, 0, len(leaves)*len(Leaf{}))
	for _, l := range leaves {
		text = append(text, l[:]...)
	}
	return text
}

// Split is the inverse of Join.
func Split(text []byte) ([]Leaf, error) {
	if len(text)%len(Leaf{}) != 0 {
		return nil, fmt.Errorf("%d bytes are not a number of whole leaves", len(text))
	}
	leaves := make([]Leaf, 0, len(text)/len(Leaf{}))
	for l := range slices.Chunk(text, len(Leaf{})) {
		leaves = append(leaves, Leaf(l))
	}
	return leaves, nil
}

// purpose begins what a seed is made of. Its number rises with any change of the rules below,
// so that no roll and round give two orders under one name.
const purpose = "flashsale draw 1"

// SeedOf returns the seed of a sale's order. The sale is part of it, so that one round gives
// two sales two orders; the roll is, so that one entry more or less changes every place, and
// nobody can choose entries by their places. A sale's id has no zero byte.
func SeedOf(saleID string, roll Digest, randomness [sha256.Size]byte) Digest {
	return sha256.Sum256(slices.Concat([]byte(purpose), []byte{0}, []byte(saleID), []byte{0}, roll[:], randomness[:]))
}

// RankOf returns a leaf's rank by a seed.
func RankOf(seed Digest, l Leaf) Rank {
	var text [len(seed) + len(l)]byte // no allocation: there may be millions of leaves
	copy(text[copy(text[:], seed[:]):], l[:])
	sum := sha256.Sum256(text[:])
	return Rank(sum[:len(Rank{})])
}

// Ranks returns the leaves' ranks, in the order of the leaves.
func Ranks(seed Digest, leaves []Leaf) []Rank {
	ranks := make([]Rank, len(leaves))
	for i, l := range leaves {
		ranks[i] = RankOf(seed, l)
	}
	return ranks
}

// Compare orders ranks: who has the lower one is called first.
func (r Rank) Compare(other Rank) int { return bytes.Compare(r[:], other[:]) }

// NthAbove returns the n-th lowest of the ranks above lo, or the highest one if there are
// fewer, and how many are above lo and not above hi. Without any it returns lo and 0. A call
// for n units after one that ended at lo calls those from lo, exclusive, to hi. The ranks keep
// their order.
func NthAbove(ranks []Rank, lo Rank, n int64) (hi Rank, called int64) {
	if n = min(n, int64(len(ranks))); n <= 0 {
		return lo, 0
	}
	// Of a roll of millions no copy is made, but for the lowest; below is what the highest of n of them is.
	lowest, below := make([]Rank, 0, min(2*n, int64(len(ranks)))), (*Rank)(nil)
	keep := func() {
		slices.SortFunc(lowest, Rank.Compare)
		if lowest = lowest[:min(n, int64(len(lowest)))]; int64(len(lowest)) == n {
			highest := lowest[n-1]
			below = &highest
		}
	}
	for _, r := range ranks {
		if r.Compare(lo) <= 0 || below != nil && r.Compare(*below) >= 0 {
			continue
		}
		if lowest = append(lowest, r); len(lowest) == cap(lowest) {
			keep()
		}
	}
	if keep(); len(lowest) == 0 {
		return lo, 0
	}
	return lowest[len(lowest)-1], int64(len(lowest))
}

// String returns lower-case hexadecimal digits, as everywhere outside of the table.
func (n Nonce) String() string  { return hex.EncodeToString(n[:]) }
func (l Leaf) String() string   { return hex.EncodeToString(l[:]) }
func (d Digest) String() string { return hex.EncodeToString(d[:]) }
func (r Rank) String() string   { return hex.EncodeToString(r[:]) }

// ParseDigest and ParseRank read what String returns, and nothing else: a value has one text, so
// that texts may be compared.
func ParseDigest(text string) (d Digest, err error) {
	err = parse(d[:], text)
	return d, err
}

func ParseRank(text string) (r Rank, err error) {
	err = parse(r[:], text)
	return r, err
}

func parse(into []byte, text string) error {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(into) || hex.EncodeToString(b) != text {
		return fmt.Errorf("it is not %d lower-case hexadecimal digits", hex.EncodedLen(len(into)))
	}
	copy(into, b)
	return nil
}
