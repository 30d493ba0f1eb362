// Package issuer replaces the identity provider during development: it signs access
// tokens for anybody and publishes the key that verifies them.
//
// It implements OAuth's and OpenID Connect's formats and its own key file. It
// authenticates nobody, so it must only be reachable from this machine.
package issuer

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

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
	// Client is the page that may use the code flow; PageClient when empty.
	Client string
	// Groups are the roles that a token may ask for, with the group of each; nil offers none.
	Groups map[string]string
	// Now is time.Now when nil.
	Now func() time.Time
}

// Issuer signs tokens with one RSA key. It is safe for concurrent use.
type Issuer struct {
	url      string
	audience string
	client   string
	groups   map[string]string
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
	// Audience replaces the default audience unless it is empty.
	Audience string
	// Scope is a space-separated list; empty leaves the claim out.
	Scope string
	// Groups are the user's, as Amazon Cognito names them; empty leaves the claim out.
	Groups []string
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
	i := &Issuer{url: o.URL, audience: o.Audience, client: cmp.Or(o.Client, PageClient), groups: o.Groups, now: o.Now, key: key}
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
		"aud": cmp.Or(c.Audience, i.audience),
		"iat": now.Unix(),
		"nbf": now.Unix(),
		"exp": now.Unix() + int64(c.TTL/time.Second),
		"jti": rand.Text(),
	})
	if c.Scope != "" {
		claims["scope"] = c.Scope
	}
	if len(c.Groups) > 0 {
		claims["cognito:groups"] = c.Groups
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = i.kid
	signed, err := token.SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

const (
	keyBits = 2048
	keyFile = "issuer-key.pem"
	pemType = "PRIVATE KEY"
)

// signingKey loads the key of dir, or creates it.
func signingKey(dir string) (*rsa.PrivateKey, error) {
	if dir == "" {
		return rsa.GenerateKey(rand.Reader, keyBits)
	}
	path := filepath.Join(dir, keyFile)
	key, err := loadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if key, err = rsa.GenerateKey(rand.Reader, keyBits); err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	if err := storeKey(dir, path, key); err != nil {
		return nil, fmt.Errorf("store key: %w", err)
	}
	// Another process may have stored its key first, so use the file's.
	return loadKey(path)
}

func loadKey(path string) (*rsa.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := decodeKey(text)
	if err != nil {
		return nil, fmt.Errorf("read %s (delete it to make a new one): %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, err
	}
	return key, nil
}

func decodeKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return nil, fmt.Errorf("decode key: not a PEM block of type %s", pemType)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("decode key: %w", err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok || key.N.BitLen() < keyBits {
		return nil, fmt.Errorf("decode key: not an RSA key of at least %d bits", keyBits)
	}
	return key, nil
}

// storeKey writes a temporary file and links it into place, which never exposes a
// partial key nor replaces one that another process has just stored.
func storeKey(dir, path string, key *rsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, keyFile+".*") // CreateTemp makes it 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

const (
	defaultTTL = time.Hour
	// maxTTL keeps every expiry within a token's range.
	maxTTL = 10 * 365 * 24 * time.Hour
)

// Handler serves the issuer below /_local/:
//
//	/_local/token?sub=alice[&ttl=3600][&scope=…][&aud=…][&role=…]
//	/_local/jwks.json
//	/_local/authorize, /_local/oauth2/token: the code flow with PKCE, for the buyer's page
//
// The token is the bare body, so that a shell can use it. ttl is in seconds, an
// hour by default; a negative one makes an expired token. role may be repeated.
func (i *Issuer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_local/token", i.serveToken)
	mux.HandleFunc("GET /_local/jwks.json", i.serveKeys)
	mux.HandleFunc("GET "+AuthorizePath, i.serveAuthorize)
	mux.HandleFunc("POST "+AuthorizePath, i.serveAuthorize)
	mux.HandleFunc("POST "+TokenPath, i.serveExchange)
	return mux
}

func (i *Issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	// Without this a cache would return the same token again, by then expired.
	w.Header().Set("Cache-Control", "no-store")
	claims, err := i.claimsOf(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	token, err := i.Token(claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, token)
}

func (i *Issuer) claimsOf(rawQuery string) (Claims, error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return Claims{}, fmt.Errorf("read query: %w", err)
	}
	for name, values := range query {
		for _, value := range values {
			if !utf8.ValidString(value) {
				return Claims{}, fmt.Errorf("%q is not valid UTF-8", name)
			}
		}
	}
	c := Claims{
		Subject:  query.Get("sub"),
		Audience: query.Get("aud"),
		Scope:    query.Get("scope"),
		TTL:      defaultTTL,
	}
	if c.Subject == "" {
		return Claims{}, errors.New("sub is missing: use /_local/token?sub=alice")
	}
	for _, role := range query["role"] {
		group, ok := i.groups[role]
		if !ok {
			return Claims{}, fmt.Errorf("role must be one of %q", slices.Sorted(maps.Keys(i.groups)))
		}
		c.Groups = append(c.Groups, group)
	}
	if text := query.Get("ttl"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if limit := int64(maxTTL / time.Second); err != nil || seconds > limit || seconds < -limit {
			return Claims{}, fmt.Errorf("ttl must be a whole number of seconds between -%d and %[1]d", limit)
		}
		c.TTL = time.Duration(seconds) * time.Second
	}
	return c, nil
}

func (i *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(i.jwks)
}
