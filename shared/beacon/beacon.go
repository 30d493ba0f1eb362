// Package beacon is public dice: drand's network quicknet, whose members sign the number of a
// round every three seconds. Nobody knows a round's signature before a threshold of them has
// signed it, there is exactly one, and anybody can verify it with the network's public key.
//
// See https://docs.drand.love and https://drand.love/blog/2023/10/16/quicknet-is-live/.
package beacon

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/cloudflare/circl/ecc/bls12381"
)

// Chain is a sequence of rounds that one key signs, by the scheme bls-unchained-g1-rfc9380:
// the signature is on G1 and the key on G2 of BLS12-381, and a round's message has nothing of
// the round before, so that any round can be verified alone.
type Chain struct {
	Hash    string `json:"hash"`    // names the chain: 64 lower-case hexadecimal digits
	Key     string `json:"key"`     // the public key, compressed: 192 hexadecimal digits
	Genesis int64  `json:"genesis"` // when round 1 is signed, in seconds since 1970
	Period  int64  `json:"period"`  // seconds from one round to the next
}

// Quicknet is drand's quicknet, in operation since August 2023. Its hash is the SHA-256 digest
// of its key, times and name, so whoever compares the hash has compared everything.
var Quicknet = Chain{
	Hash: "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
	Key: "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451" +
		"0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
	Genesis: 1692803367,
	Period:  3,
}

// RoundAt returns the first round that is signed at t or later.
func (c Chain) RoundAt(t time.Time) uint64 {
	seconds := t.Unix() - c.Genesis
	if t.Nanosecond() > 0 {
		seconds++
	}
	if seconds <= 0 {
		return 1
	}
	return uint64((seconds+c.Period-1)/c.Period) + 1
}

// TimeOf returns when a round is signed. Relays have it about a second later.
func (c Chain) TimeOf(round uint64) time.Time {
	return time.Unix(c.Genesis+int64(round-1)*c.Period, 0).UTC()
}

// Sizes of compressed points, in bytes.
const (
	SignatureSize = bls12381.G1SizeCompressed
	keySize       = bls12381.G2SizeCompressed
)

// domain separates the scheme's hashes from those of others (RFC 9380, 3.1).
const domain = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"

// Verify reports why a signature is not the round's.
//
// A round has one signature, of which one byte string is accepted: with another encoding of the
// same point, whoever hands it on could choose between two values of Randomness.
func (c Chain) Verify(round uint64, signature []byte) error {
	if round == 0 {
		return errors.New("verify signature: there is no round 0") // relays answer it with the latest round
	}
	key, err := c.key()
	if err != nil {
		return fmt.Errorf("verify signature: %w", err)
	}
	if len(signature) != SignatureSize {
		return fmt.Errorf("verify signature: it has %d bytes, want %d", len(signature), SignatureSize)
	}
	var point, message bls12381.G1
	if err := point.SetBytes(signature); err != nil { // not of the subgroup, or not its one compressed encoding
		return fmt.Errorf("verify signature: %w", err)
	}
	digest := sha256.Sum256(binary.BigEndian.AppendUint64(nil, round))
	message.Hash(digest[:], []byte(domain))
	// e(message, key) = e(signature, generator), computed as one product. The point at infinity
	// as signature would fulfil it only with such a key.
	product := bls12381.ProdPairFrac([]*bls12381.G1{&message, &point},
		[]*bls12381.G2{key, bls12381.G2Generator()}, []int{1, -1})
	if !product.IsIdentity() {
		return fmt.Errorf("verify signature: it is not that of round %d", round)
	}
	return nil
}

// key decodes the public key.
func (c Chain) key() (*bls12381.G2, error) {
	text, err := hex.DecodeString(c.Key)
	if err != nil || len(text) != keySize {
		return nil, fmt.Errorf("the key is not %d hexadecimal digits", hex.EncodedLen(keySize))
	}
	key := new(bls12381.G2)
	if err := key.SetBytes(text); err != nil {
		return nil, fmt.Errorf("the key is not a point: %w", err)
	}
	if key.IsIdentity() {
		return nil, errors.New("the key is the point at infinity")
	}
	return key, nil
}

// Check reports what is wrong with a chain.
func (c Chain) Check() error {
	hash, err := hex.DecodeString(c.Hash)
	if err != nil || len(hash) != sha256.Size || hex.EncodeToString(hash) != c.Hash {
		return fmt.Errorf("read chain: the hash is not %d lower-case hexadecimal digits", hex.EncodedLen(sha256.Size))
	}
	if c.Genesis < 0 || c.Period < 1 {
		return fmt.Errorf("read chain: genesis is %d and period %d, want at least 0 and 1", c.Genesis, c.Period)
	}
	if _, err := c.key(); err != nil {
		return fmt.Errorf("read chain: %w", err)
	}
	return nil
}

// Randomness returns what a round's signature is as dice. A signature is a point with
// a structure; its digest has none.
func Randomness(signature []byte) [sha256.Size]byte { return sha256.Sum256(signature) }
