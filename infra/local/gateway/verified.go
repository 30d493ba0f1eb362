package gateway

import (
	"crypto/rsa"
	"crypto/sha256"
	"sync"

	"github.com/golang-jwt/jwt/v5"
)

// verified is what a token with a good signature says. It is shared by requests
// and never changed.
type verified struct {
	kid    string
	key    *rsa.PublicKey // the one that the signature was checked with
	claims jwt.MapClaims
	texts  map[string]string
}

// verifiedTokens remembers tokens by their hash: a caller's second request costs
// no signature check, which is most of what the gateway does for an order. Only
// the signature is remembered. What depends on the time, on the route or on the
// keys that are valid is checked for each request.
type verifiedTokens struct {
	mu sync.Mutex
	// Two generations bound the memory without a list of uses: when recent is
	// full it becomes old, and what is in old and not asked for again is gone.
	recent, old map[[sha256.Size]byte]*verified
}

// tokensKept is the size of one generation. A token's claims take about 2 KiB.
const tokensKept = 4096

func (t *verifiedTokens) get(id [sha256.Size]byte) *verified {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.recent[id]; v != nil {
		return v
	}
	v := t.old[id]
	if v != nil {
		t.keep(id, v)
	}
	return v
}

func (t *verifiedTokens) put(id [sha256.Size]byte, v *verified) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(id, v)
}

// keep needs the lock.
func (t *verifiedTokens) keep(id [sha256.Size]byte, v *verified) {
	if t.recent == nil || len(t.recent) >= tokensKept {
		t.recent, t.old = make(map[[sha256.Size]byte]*verified), t.recent
	}
	t.recent[id] = v
}
