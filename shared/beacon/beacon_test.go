package beacon

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/cloudflare/circl/ecc/bls12381"
)

// published are rounds of quicknet, as its members signed them.
var published = map[uint64]string{
	1000:       "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39",
	1001:       "b33bf3667cbd5a82de3a24b4e0e9fe5513cc1a0e840368c6e31f5fcfa79bea03f73896b25883abf2853d10337fb8fa41",
	21_000_000: "971cbe88adc436f6411fd26d51887ede7ba144264cd05edec6645b5e170a7702d16082947a85d89c89cb47cd8eb7d817",
}

func decode(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNoOtherBytesAreASignature(t *testing.T) {
	signature := decode(t, published[1000])
	for i := range 8 * len(signature) {
		flipped := slices.Clone(signature)
		flipped[i/8] ^= 0x80 >> (i % 8)
		if err := Quicknet.Verify(1000, flipped); err == nil {
			t.Errorf("it verifies with bit %d flipped", i)
		}
	}
	var point, sum bls12381.G1
	if err := point.SetBytes(signature); err != nil {
		t.Fatal(err)
	}
	sum.Add(&point, bls12381.G1Generator())
	infinity := make([]byte, SignatureSize)
	infinity[0] = 0xc0
	for name, other := range map[string][]byte{
		"nothing":               nil,
		"a byte too few":        signature[:SignatureSize-1],
		"a byte too many":       append(slices.Clone(signature), 0),
		"zeros":                 make([]byte, SignatureSize),
		"the point at infinity": infinity,
		"not compressed":        point.Bytes(),
		"another point":         sum.BytesCompressed(),
	} {
		if err := Quicknet.Verify(1000, other); err == nil {
			t.Errorf("%s: it verifies", name)
		}
	}
	secret, chain := ownChain(t)
	if err := chain.Verify(1000, signature); err == nil {
		t.Error("quicknet's signature verifies with another key")
	}
	if err := chain.Verify(0, sign(secret, 0)); err == nil {
		t.Error("round 0, which relays answer with the latest one, has a signature")
	}
}

// ownChain is a chain with a key of this test.
func ownChain(t *testing.T) (*bls12381.Scalar, Chain) {
	t.Helper()
	secret := new(bls12381.Scalar)
	secret.SetBytes([]byte("the key of a chain of this test!"))
	var key bls12381.G2
	key.ScalarMult(secret, bls12381.G2Generator())
	hash := sha256.Sum256(key.BytesCompressed())
	return secret, Chain{Hash: hex.EncodeToString(hash[:]), Key: hex.EncodeToString(key.BytesCompressed()), Genesis: 1_000_000, Period: 3}
}

func sign(secret *bls12381.Scalar, round uint64) []byte {
	message := sha256.Sum256(binary.BigEndian.AppendUint64(nil, round))
	var point bls12381.G1
	point.Hash(message[:], []byte("BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"))
	point.ScalarMult(secret, &point)
	return point.BytesCompressed()
}

func TestAChainIsCheckedFieldByField(t *testing.T) {
	for _, c := range []Chain{Quicknet, {Hash: Quicknet.Hash, Key: Quicknet.Key, Genesis: 0, Period: 1}} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	var point bls12381.G2
	if err := point.SetBytes(decode(t, Quicknet.Key)); err != nil {
		t.Fatal(err)
	}
	infinity := make([]byte, keySize)
	infinity[0] = 0xc0
	for name, change := range map[string]func(*Chain){
		"no hash":                    func(c *Chain) { c.Hash = "" },
		"a hash that is a path":      func(c *Chain) { c.Hash = "../" + c.Hash[3:] },
		"no key":                     func(c *Chain) { c.Key = "" },
		"a key that is not hex":      func(c *Chain) { c.Key = "xx" + c.Key[2:] },
		"a key that is no point":     func(c *Chain) { c.Key = c.Key[:len(c.Key)-2] + "00" },
		"a key at infinity":          func(c *Chain) { c.Key = hex.EncodeToString(infinity) },
		"a key that is uncompressed": func(c *Chain) { c.Key = hex.EncodeToString(point.Bytes()) },
		"a genesis before 1970":      func(c *Chain) { c.Genesis = -1 },
		"no period":                  func(c *Chain) { c.Period = 0 },
	} {
		c := Quicknet
		change(&c)
		if err := c.Check(); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

// A chain's hash is that of its period, genesis, key, first group of members and name.
func TestThePinnedHashIsThatOfThePinnedKeyAndTimes(t *testing.T) {
	firstGroup := decode(t, "f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e")
	text := binary.BigEndian.AppendUint32(nil, uint32(Quicknet.Period))
	text = binary.BigEndian.AppendUint64(text, uint64(Quicknet.Genesis))
	text = slices.Concat(text, decode(t, Quicknet.Key), firstGroup, []byte("quicknet"))
	if hash := sha256.Sum256(text); hex.EncodeToString(hash[:]) != Quicknet.Hash {
		t.Errorf("the hash is %x, want %s", hash, Quicknet.Hash)
	}
}

func TestTheRoundAtAnInstantIsTheFirstThatIsNotBeforeIt(t *testing.T) {
	genesis := time.Unix(1692803367, 0)
	for _, tt := range []struct {
		at   time.Time
		want uint64
	}{
		{time.Unix(0, 0), 1},
		{genesis.Add(-time.Nanosecond), 1},
		{genesis, 1},
		{genesis.Add(time.Nanosecond), 2},
		{time.Unix(1695803364, 0), 1_000_000},
	} {
		if got := Quicknet.RoundAt(tt.at); got != tt.want {
			t.Errorf("the round at %s is %d, want %d", tt.at.UTC(), got, tt.want)
		}
	}
	for round := uint64(1); round < 2_000_000_000; round += 1 + round/3 {
		at := Quicknet.TimeOf(round)
		if Quicknet.RoundAt(at) != round || Quicknet.RoundAt(at.Add(-time.Nanosecond)) != round || Quicknet.RoundAt(at.Add(time.Nanosecond)) != round+1 {
			t.Errorf("round %d, signed at %s, is not the first at or after it", round, at)
		}
	}
	if at := Quicknet.TimeOf(1_000_000); at.Unix() != 1695803364 {
		t.Errorf("round 1,000,000 is signed at %s", at)
	}
}
