package drawcheck

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"
)

// signed are rounds of quicknet, as its relays show them.
var signed = map[uint64]string{
	1000: "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39",
	1001: "b33bf3667cbd5a82de3a24b4e0e9fe5513cc1a0e840368c6e31f5fcfa79bea03f73896b25883abf2853d10337fb8fa41",
}

func bytesOf(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNoOtherBytesAreASignature(t *testing.T) {
	signature := bytesOf(t, signed[1000])
	for i := range 8 * len(signature) {
		flipped := slices.Clone(signature)
		flipped[i/8] ^= 0x80 >> (i % 8)
		if Quicknet.Verify(1000, flipped) == nil {
			t.Errorf("it verifies with bit %d flipped", i)
		}
	}
	infinity := make([]byte, len(signature))
	infinity[0] = 0xc0
	for name, other := range map[string][]byte{
		"nothing": nil, "a byte too few": signature[1:], "a byte too many": append(slices.Clone(signature), 0), "the point at infinity": infinity,
	} {
		if Quicknet.Verify(1000, other) == nil {
			t.Errorf("%s: it verifies", name)
		}
	}
}

// A chain's hash is that of its period, genesis, key, first group of members and name.
func TestThePinnedHashIsThatOfThePinnedKeyAndTimes(t *testing.T) {
	text := binary.BigEndian.AppendUint32(nil, uint32(Quicknet.Period))
	text = binary.BigEndian.AppendUint64(text, uint64(Quicknet.Genesis))
	text = slices.Concat(text, bytesOf(t, Quicknet.Key), bytesOf(t, "f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e"), []byte("quicknet"))
	if hash := sha256.Sum256(text); hex.EncodeToString(hash[:]) != Quicknet.Hash {
		t.Errorf("the hash is %x, want %s", hash, Quicknet.Hash)
	}
}
