// Package drawcheck checks a draw from what is public: that nobody was added to the roll, left
// out or moved, that the dice decided the order, and that the calls followed it. It is for
// whoever does not trust the operator.
//
// It is a second implementation of the rules, after their description in infra/docs/HTTP.md. It
// shares no code with the system that it judges, not even the arithmetic of the dice's signature.
package drawcheck

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
	// Nonce comes with an entrant's receipt, Leaf is the entrant on the roll.
	Nonce [32]byte
	Leaf  [32]byte
	// Digest is of a roll, or the seed that the dice made of it.
	Digest [32]byte
	// Rank is a leaf's place: lower ones are called first.
	Rank [16]byte
)

func (n Nonce) String() string  { return hex.EncodeToString(n[:]) }
func (l Leaf) String() string   { return hex.EncodeToString(l[:]) }
func (d Digest) String() string { return hex.EncodeToString(d[:]) }
func (r Rank) String() string   { return hex.EncodeToString(r[:]) }

// UnmarshalText reads lower-case hexadecimal digits of the exact length: a value has one text.
func (n *Nonce) UnmarshalText(text []byte) error  { return digits(n[:], text) }
func (l *Leaf) UnmarshalText(text []byte) error   { return digits(l[:], text) }
func (d *Digest) UnmarshalText(text []byte) error { return digits(d[:], text) }
func (r *Rank) UnmarshalText(text []byte) error   { return digits(r[:], text) }

func digits(to, text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(to) || hex.EncodeToString(b) != string(text) {
		return fmt.Errorf("%q is not %d lower-case hexadecimal digits", text, 2*len(to))
	}
	copy(to, b)
	return nil
}

// NonceOf returns a user's nonce by the key that only the operator has.
func NonceOf(key []byte, user string) Nonce {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(user))
	return Nonce(mac.Sum(nil))
}

// LeafOf returns a user's leaf.
func LeafOf(user string, n Nonce) Leaf {
	return sha256.Sum256(append(append([]byte(user), 0), n[:]...))
}

func compareLeaves(a, b Leaf) int { return bytes.Compare(a[:], b[:]) }

// Compare orders ranks: the lower one is called first.
func (r Rank) Compare(other Rank) int { return bytes.Compare(r[:], other[:]) }

// digestOf returns the digest of a roll: that of its pages' digests, each of which is that of the
// page's leaves one after the other.
func digestOf(pages *[Pages][]Leaf) Digest {
	roll := sha256.New()
	for _, leaves := range pages {
		page := sha256.New()
		for _, l := range leaves {
			page.Write(l[:])
		}
		roll.Write(page.Sum(nil))
	}
	return Digest(roll.Sum(nil))
}

// seedOf returns what the dice make of a roll. The randomness of a round is its signature's
// SHA-256.
func seedOf(saleID string, roll Digest, signature []byte) Digest {
	randomness := sha256.Sum256(signature)
	seed := sha256.New()
	fmt.Fprintf(seed, "flashsale draw 1\x00%s\x00%s%s", saleID, roll[:], randomness[:])
	return Digest(seed.Sum(nil))
}

// RankOf returns a leaf's rank by a seed.
func RankOf(seed Digest, l Leaf) Rank {
	var text [64]byte
	copy(text[:32], seed[:])
	copy(text[32:], l[:])
	sum := sha256.Sum256(text[:])
	return Rank(sum[:16])
}

// ordered returns the ranks of a roll in the order in which they are called.
func ordered(seed Digest, pages *[Pages][]Leaf) []Rank {
	var all []Rank
	for _, leaves := range pages {
		for _, l := range leaves {
			all = append(all, RankOf(seed, l))
		}
	}
	slices.SortFunc(all, Rank.Compare)
	return all
}

// upTo returns how many of the ranks, which are in order, are not above r.
func upTo(ranks []Rank, r Rank) int64 {
	i, found := slices.BinarySearchFunc(ranks, r, Rank.Compare)
	if found {
		i++
	}
	return int64(i)
}
