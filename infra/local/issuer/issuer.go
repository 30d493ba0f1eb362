package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ErrUnknownKey: no key has the requested id.
var ErrUnknownKey = errors.New("unknown key id")

// Options are the tokens' issuer and audience.
type Options struct {
	// URL is the tokens' iss; the documents are below it. It must be an absolute http
	// or https URL.
	URL string
	// Audience is the tokens' aud unless their Claims have another one.
	Audience string
	// Now is time.Now when nil.
	Now func() time.Time
}

// Issuer signs tokens with one RSA key. It is safe for concurrent use.
type Issuer struct {
	url      string
	audience string
	now      func() time.Time
	key      *rsa.PrivateKey
	kid      string
	jwks     []byte
	grants   grants
}

// Claims are the claims of a requested token.
type Claims struct {
	// Subject is the user; it must not be empty.
	Subject string
	// Audience replaces the default audience; one entry becomes a string, more an array.
	Audience []string
	// ClientID makes a token without aud, unless Audience names one, as
	// Amazon Cognito's access tokens are.
	ClientID string
	// Scope is a space-separated list; empty leaves the claim out.
	Scope string
	// TTL is the time until the token expires, in whole seconds; with zero or less it
	// is already expired.
	TTL time.Duration
}

// Open loads the signing key from dir, or creates and stores one there, so that tokens
// survive a restart. With an empty dir the key is in memory only.
func Open(dir string, o Options) (*Issuer, error) {
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("open issuer: %q is not an absolute URL", o.URL)
	}
	if o.Audience == "" {
		return nil, errors.New("open issuer: an audience is needed")
	}
	key, err := signingKey(dir)
	if err != nil {
		return nil, fmt.Errorf("open issuer: %w", err)
	}
	i := &Issuer{url: o.URL, audience: o.Audience, now: o.Now, key: key}
	if i.now == nil {
		i.now = time.Now
	}
	if err := i.publish(); err != nil {
		return nil, fmt.Errorf("open issuer: %w", err)
	}
	return i, nil
}

// publish derives the key's id, its thumbprint by RFC 7638, and the key set.
func (i *Issuer) publish() error {
	n := base64.RawURLEncoding.EncodeToString(i.key.N.Bytes())
	e := base64.RawURLEncoding.EncodeToString(exponent(i.key.E))
	thumbprint := sha256.Sum256(fmt.Appendf(nil, `{"e":%q,"kty":"RSA","n":%q}`, e, n))
	i.kid = base64.RawURLEncoding.EncodeToString(thumbprint[:])
	var err error
	i.jwks, err = json.Marshal(map[string]any{"keys": []map[string]string{{
		"kty": "RSA", "use": "sig", "alg": jwt.SigningMethodRS256.Alg(), "kid": i.kid, "n": n, "e": e,
	}}})
	return err
}

// exponent is e without leading zero bytes, as RFC 7518 requires.
func exponent(e int) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(e))
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	return b
}

// URL returns the tokens' iss.
func (i *Issuer) URL() string { return i.url }

// JWKS returns the key set as JSON.
func (i *Issuer) JWKS() []byte { return append([]byte(nil), i.jwks...) }

// Key returns the public key with the id, or ErrUnknownKey.
func (i *Issuer) Key(kid string) (*rsa.PublicKey, error) {
	if kid != i.kid {
		return nil, ErrUnknownKey
	}
	return &i.key.PublicKey, nil
}

// Token signs an access token.
func (i *Issuer) Token(c Claims) (string, error) { return i.sign(c, jwt.MapClaims{}) }

// sign adds the claims to those given, and signs them.
func (i *Issuer) sign(c Claims, claims jwt.MapClaims) (string, error) {
	if c.Subject == "" {
		return "", errors.New("sign token: a subject is needed")
	}
	now := i.now()
	maps.Copy(claims, jwt.MapClaims{
		"iss": i.url,
		"sub": c.Subject,
		"iat": now.Unix(),
		"nbf": now.Unix(),
		"exp": now.Unix() + int64(c.TTL/time.Second),
		"jti": rand.Text(),
	})
	switch {
	case len(c.Audience) == 1:
		claims["aud"] = c.Audience[0]
	case len(c.Audience) > 1:
		claims["aud"] = c.Audience
	case c.ClientID == "":
		claims["aud"] = i.audience
	}
	if c.ClientID != "" {
		claims["client_id"] = c.ClientID
	}
	if c.Scope != "" {
		claims["scope"] = c.Scope
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = i.kid
	signed, err := token.SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}
