// Package issuer replaces the identity provider during development: it signs access
// tokens for anybody.
//
// It implements OAuth's and OpenID Connect's formats and its own key file. Nobody but the local
// gateway, which asks it for its key, verifies its tokens. It authenticates nobody, so it must
// only be reachable from this machine.
package issuer

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
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

	"github.com/golang-jwt/jwt/v5"
)

// KeyID is the id of every issuer's only key.
const KeyID = "local"

var errUnknownKey = errors.New("unknown key id")

type Options struct {
	// URL is the tokens' iss.
	URL string
	// Audience is the tokens' aud unless their Claims have another one.
	Audience string
	// Client is the page that may use the code flow; PageClient when empty.
	Client string
	// Groups are the roles that a token may ask for, with the group of each; nil offers none.
	Groups map[string]string
	// Read returns what the API answers everybody at a path, so that the sign-in page can show what
	// it is for; nil shows nothing.
	Read func(ctx context.Context, path string) []byte
	// ImageOrigin is where pictures may come from, besides the issuer's own origin; "" for nowhere.
	ImageOrigin string
}

// Issuer signs tokens with one RSA key. It is safe for concurrent use.
type Issuer struct {
	o   Options
	key *rsa.PrivateKey
}

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
	key, err := signingKey(dir)
	if err != nil {
		return nil, fmt.Errorf("open issuer: %w", err)
	}
	o.Client = cmp.Or(o.Client, PageClient)
	return &Issuer{o, key}, nil
}

func (i *Issuer) Key(kid string) (*rsa.PublicKey, error) {
	if kid != KeyID {
		return nil, errUnknownKey
	}
	return &i.key.PublicKey, nil
}

func (i *Issuer) Token(c Claims) (string, error) { return i.sign(c, jwt.MapClaims{}) }

// sign adds the claims to those given, and signs them.
func (i *Issuer) sign(c Claims, claims jwt.MapClaims) (string, error) {
	now := time.Now()
	maps.Copy(claims, jwt.MapClaims{
		"iss": i.o.URL,
		"sub": c.Subject,
		"aud": cmp.Or(c.Audience, i.o.Audience),
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
	token.Header["kid"] = KeyID
	signed, err := token.SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

const (
	keyBits = 2048
	keyFile = "issuer-key.pem"
)

// signingKey loads the key of dir, or creates it.
func signingKey(dir string) (*rsa.PrivateKey, error) {
	path := filepath.Join(dir, keyFile)
	if dir != "" {
		if key, err := loadKey(path); !errors.Is(err, fs.ErrNotExist) {
			return key, err
		}
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	if dir != "" {
		err = storeKey(path, key)
	}
	return key, err
}

func loadKey(path string) (*rsa.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(text)
	if err != nil {
		return nil, fmt.Errorf("read %s (delete it to make a new one): %w", path, err)
	}
	return key, nil
}

// storeKey puts the file in its place when it is whole.
func storeKey(path string, key *rsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	next := path + ".new"
	if err == nil {
		err = os.WriteFile(next, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	return err
}

const defaultTTL = time.Hour

// Handler serves the issuer below /_local/:
//
//	/_local/token?sub=alice[&ttl=3600][&scope=…][&role=…]
//	/_local/authorize, /_local/oauth2/token: the code flow with PKCE, for the buyer's page
//	/_local/signin.css, /_local/signin.js: what the sign-in page refers to
//
// The token is the bare body, so that a shell can use it. ttl is in seconds, an
// hour by default; a negative one makes an expired token. role may be repeated.
func (i *Issuer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_local/token", i.serveToken)
	mux.HandleFunc("GET "+AuthorizePath, i.serveAuthorize)
	mux.HandleFunc("POST "+AuthorizePath, i.serveAuthorize)
	mux.HandleFunc("POST "+TokenPath, i.serveExchange)
	for _, name := range []string{"signin.css", "signin.js"} {
		mux.HandleFunc("GET /_local/"+name, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Content-Type-Options", "nosniff")
			http.ServeFileFS(w, r, files, "assets/"+name)
		})
	}
	return mux
}

func (i *Issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	// Without this a cache would return the same token again, by then expired.
	w.Header().Set("Cache-Control", "no-store")
	claims, err := i.claimsOf(r.URL.Query())
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

func (i *Issuer) claimsOf(query url.Values) (Claims, error) {
	c := Claims{Subject: query.Get("sub"), Scope: query.Get("scope"), TTL: defaultTTL}
	if c.Subject == "" {
		return Claims{}, errors.New("sub is missing: use /_local/token?sub=alice")
	}
	for _, role := range query["role"] {
		group, ok := i.o.Groups[role]
		if !ok {
			return Claims{}, fmt.Errorf("role must be one of %q", slices.Sorted(maps.Keys(i.o.Groups)))
		}
		c.Groups = append(c.Groups, group)
	}
	if text := query.Get("ttl"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return Claims{}, errors.New("ttl must be a whole number of seconds, for some decades at most")
		}
		c.TTL = time.Duration(seconds) * time.Second
	}
	return c, nil
}
