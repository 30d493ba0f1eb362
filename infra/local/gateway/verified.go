package gateway

import (
	"crypto/rsa"
	"crypto/sha256"
	"sync"

	"github.com/golang-jwt/jwt/v5"
)

// verified is the content of a token with a valid signature. Requests share it, and it
// never changes.
type verified struct {
	kid    string
	key    *rsa.PublicKey // the key that verified the signature
	claims jwt.MapClaims
	texts  map[string]string
}

// verifiedTokens caches verified tokens by hash: a caller's second request needs no
// signature check, which is most of the gateway's work for an order. Only the signature
// check is cached. Anything that depends on the time, the route or the valid keys is
// checked for each request.
type verifiedTokens struct {
	mu sync.Mutex
	// Two generations bound the memory without a list of uses: when recent is full it
	// becomes old, and the unused entries of the previous old are dropped.
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
