package gateway

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// door is an authorizer whose clock and keys the test controls.
type door struct {
	jwt  *JWT
	now  time.Time
	keys map[string]*rsa.PublicKey
}

func newDoor() *door {
	d := &door{now: testTime, keys: map[string]*rsa.PublicKey{testKid: &testKey().PublicKey}}
	d.jwt = testJWT()
	d.jwt.Keys = func(kid string) (*rsa.PublicKey, error) {
		if key := d.keys[kid]; key != nil {
			return key, nil
		}
		return nil, errors.New("unknown key")
	}
	return d
}

// opens reports whether the token is let in, and that a refusal is a 401.
func (d *door) opens(t *testing.T, token string) bool {
	t.Helper()
	a, refused := d.jwt.authorize([]string{"Bearer " + token}, nil, d.now)
	if refused != nil && refused.status != http.StatusUnauthorized {
		t.Errorf("refused with %d, want 401", refused.status)
	}
	if refused == nil && a.JWT.Claims["sub"] != "alice" {
		t.Errorf("sub is %q, want alice", a.JWT.Claims["sub"])
	}
	return refused == nil
}

func (d *door) remembers(token string) bool {
	return d.jwt.tokens.get(sha256.Sum256([]byte(token))) != nil
}

func TestARememberedTokenIsStillHeldToItsTimes(t *testing.T) {
	d, token := newDoor(), goodToken(t, nil)
	if !d.opens(t, token) || !d.remembers(token) {
		t.Fatal("a good token was refused or not remembered")
	}
	d.now = testTime.Add(time.Second)
	if d.opens(t, token) {
		t.Error("a remembered token was accepted after its expiry")
	}
	d.now = testTime.Add(-time.Second)
	if d.opens(t, token) {
		t.Error("a remembered token was accepted before its time")
	}
	if d.now = testTime; !d.opens(t, token) {
		t.Error("a remembered token was refused within its time")
	}
}

func TestARememberedTokenEndsWithItsKey(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]*rsa.PublicKey{"withdrawn": nil, "replaced": &other.PublicKey} {
		t.Run(name, func(t *testing.T) {
			d, token := newDoor(), goodToken(t, nil)
			if !d.opens(t, token) {
				t.Fatal("a good token was refused")
			}
			d.keys[testKid] = key
			if d.opens(t, token) {
				t.Error("a remembered token was accepted without its key")
			}
		})
	}
}

func TestARememberedTokenOpensNothingForOneThatDiffers(t *testing.T) {
	d, token := newDoor(), goodToken(t, nil)
	if !d.opens(t, token) {
		t.Fatal("a good token was refused")
	}
	parts := strings.Split(token, ".")
	mallory := strings.Split(goodToken(t, map[string]any{"sub": "mallory"}), ".")
	for name, forged := range map[string]string{
		"no signature":              parts[0] + "." + parts[1] + ".",
		"another token's signature": parts[0] + "." + parts[1] + "." + mallory[2],
		"another token's claims":    parts[0] + "." + mallory[1] + "." + parts[2],
	} {
		if d.opens(t, forged) || d.remembers(forged) {
			t.Errorf("%s: accepted or remembered", name)
		}
	}
}

func TestOnlyGoodSignaturesAreRemembered(t *testing.T) {
	d := newDoor()
	expired := goodToken(t, map[string]any{"exp": testTime.Unix()})
	for range 2 {
		if d.opens(t, expired) {
			t.Error("an expired token was accepted")
		}
	}
	if d.opens(t, "a.b.c") || d.remembers("a.b.c") {
		t.Error("garbage was accepted or remembered")
	}
}

func TestTheMemoryOfTokensIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	var tokens verifiedTokens
	id := func(n uint64) (hash [sha256.Size]byte) {
		binary.BigEndian.PutUint64(hash[:], n)
		return hash
	}
	used := &verified{kid: "used"}
	tokens.put(id(0), used)
	for n := uint64(1); n <= 5*tokensKept; n++ {
		tokens.put(id(n), &verified{})
		if n%1000 == 0 && tokens.get(id(0)) != used {
			t.Fatalf("a token in use was forgotten after %d others", n)
		}
		if kept := len(tokens.recent) + len(tokens.old); kept > 2*tokensKept {
			t.Fatalf("%d tokens are kept, want at most %d", kept, 2*tokensKept)
		}
	}
	if tokens.get(id(1)) != nil {
		t.Error("a token that nobody used is still kept")
	}
}

func TestManyRequestsMayBringOneToken(t *testing.T) {
	d, token := newDoor(), goodToken(t, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if !d.opens(t, token) {
					t.Error("a good token was refused")
				}
			}
		})
	}
	wg.Wait()
}
