package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"os"

	"flashsale/shared/sale"
)

// minSecret is the minimum length of the origin secret, in bytes.
const minSecret = 32

// Origin recognises requests that came through the distribution in front of the API, by
// a secret header that only the distribution sends. The zero Origin accepts all
// requests.
type Origin struct {
	digest  [sha256.Size]byte
	isKnown bool
}

// NewOrigin returns an Origin that requires the secret; it fails if the secret is
// shorter than 32 bytes.
func NewOrigin(secret string) (Origin, error) {
	if len(secret) < minSecret {
		return Origin{}, fmt.Errorf("read origin secret: shorter than %d bytes", minSecret)
	}
	return Origin{sha256.Sum256([]byte(secret)), true}, nil
}

// OriginFromEnv requires the secret in ORIGIN_SECRET, or none if it is empty. It fails
// for one that is too short, so that a misconfigured function fails at start (P19).
func OriginFromEnv() (Origin, error) {
	secret := os.Getenv("ORIGIN_SECRET")
	if secret == "" {
		return Origin{}, nil
	}
	o, err := NewOrigin(secret)
	if err != nil {
		return Origin{}, fmt.Errorf("ORIGIN_SECRET: %w", err)
	}
	return o, nil
}

// Check fails with sale.Forbidden unless the request carries the secret in its
// X-Origin-Verify header. The comparison takes constant time.
func (o Origin) Check(r *Request) error {
	if !o.isKnown {
		return nil
	}
	digest := sha256.Sum256([]byte(r.Headers["x-origin-verify"]))
	if subtle.ConstantTimeCompare(digest[:], o.digest[:]) != 1 {
		return sale.Refuse(sale.Forbidden, "requests are taken at the public address only")
	}
	return nil
}
