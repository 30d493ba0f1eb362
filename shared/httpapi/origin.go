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

// Origin tells requests that came through the distribution in front of the API from
// those that went around it, by a header that only the distribution knows. The zero
// Origin lets everybody in.
type Origin struct {
	digest  [sha256.Size]byte
	isKnown bool
}

// NewOrigin expects that secret; it fails for one of less than 32 bytes.
func NewOrigin(secret string) (Origin, error) {
	if len(secret) < minSecret {
		return Origin{}, fmt.Errorf("read origin secret: shorter than %d bytes", minSecret)
	}
	return Origin{sha256.Sum256([]byte(secret)), true}, nil
}

// OriginFromEnv expects the secret that ORIGIN_SECRET holds, or none if it is empty.
// It fails for one that is too short, so that a misconfigured function dies at its
// start (P19).
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
// X-Origin-Verify header. It takes as long for a secret that is nearly right as for
// any other.
func (o Origin) Check(r *Request) error {
	if !o.isKnown {
		return nil
	}
	digest := sha256.Sum256([]byte(r.OriginVerify.Value))
	if subtle.ConstantTimeCompare(digest[:], o.digest[:]) != 1 {
		return sale.Refuse(sale.Forbidden, "requests are taken at the public address only")
	}
	return nil
}
