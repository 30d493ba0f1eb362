// Package rules has the rules of a draw for all who judge one: who checks what is public, and the
// recount of the table. They are a second implementation, after the description in
// infra/docs/HTTP.md.
package rules

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Pages is the number of a roll's pages: one for each first byte of a leaf.
const Pages = 256

type (
	// Nonce comes with an entrant's entry, Leaf is the entrant on the roll.
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

// Compare orders leaves as they are on their page.
func (l Leaf) Compare(other Leaf) int { return bytes.Compare(l[:], other[:]) }

// Compare orders ranks: the lower one is called first.
func (r Rank) Compare(other Rank) int { return bytes.Compare(r[:], other[:]) }

// DigestOf returns the digest of a roll: that of its pages' digests, each of which is that of the
// page's leaves one after the other.
func DigestOf(pages *[Pages][]Leaf) Digest {
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

// SeedOf returns what the dice make of a roll. The randomness of a round is its signature's
// SHA-256.
func SeedOf(saleID string, roll Digest, signature []byte) Digest {
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
