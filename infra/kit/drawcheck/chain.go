package drawcheck

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
)

// Chain is the public dice: a network whose members sign the number of a round at fixed times,
// by drand's scheme bls-unchained-g1-rfc9380.
type Chain struct {
	Hash    string `json:"hash"`
	Key     string `json:"key"`     // on G2, compressed, as 192 hexadecimal digits
	Genesis int64  `json:"genesis"` // when round 1 is signed, in seconds since 1970
	Period  int64  `json:"period"`  // in seconds
}

// Quicknet is drand's network for such draws, as https://api.drand.sh/v2/beacons/quicknet/info
// shows it. Its hash follows from its key, its times and its name; a test computes it.
var Quicknet = Chain{
	Hash: "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
	Key: "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451" +
		"0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
	Genesis: 1692803367,
	Period:  3,
}

// TimeOf returns when a round is signed.
func (c Chain) TimeOf(round uint64) time.Time {
	return time.Unix(c.Genesis, 0).Add(time.Duration(round-1) * time.Duration(c.Period) * time.Second).UTC()
}

// suite is the scheme's hash to a curve, with its own domain (RFC 9380).
var suite = []byte("BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_")

// Verify reports why a signature is not that of a round. A round has one signature, and a
// signature one encoding, so nobody can choose among several.
func (c Chain) Verify(round uint64, signature []byte) error {
	var key bls.G2Affine
	if err := decode(key.SetBytes, c.Key, bls.SizeOfG2AffineCompressed); err != nil {
		return fmt.Errorf("the key: %w", err)
	}
	var point bls.G1Affine
	if err := decode(point.SetBytes, hex.EncodeToString(signature), bls.SizeOfG1AffineCompressed); err != nil {
		return err
	}
	if key.IsInfinity() || point.IsInfinity() {
		return errors.New("it is the point at infinity")
	}
	message := sha256.Sum256(binary.BigEndian.AppendUint64(nil, round))
	hashed, err := bls.HashToG1(message[:], suite)
	if err != nil {
		return fmt.Errorf("hash round: %w", err)
	}
	// e(message, key) = e(signature, generator), as one product.
	_, _, _, generator := bls.Generators()
	point.Neg(&point)
	switch same, err := bls.PairingCheck([]bls.G1Affine{hashed, point}, []bls.G2Affine{key, generator}); {
	case err != nil:
		return fmt.Errorf("pair: %w", err)
	case !same:
		return errors.New("it is not what the network signs for that round")
	}
	return nil
}

// decode reads a point from the one encoding that a compressed point has.
func decode(set func([]byte) (int, error), text string, size int) error {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != size || b[0]&0x80 == 0 {
		return fmt.Errorf("it is not %d bytes of a compressed point", size)
	}
	if _, err := set(b); err != nil {
		return fmt.Errorf("it is not a point of the group: %w", err)
	}
	return nil
}
