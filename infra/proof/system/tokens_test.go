package system

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"flashsale/infra/local/issuer"
)

// audience is the audience of the local stack's tokens.
const audience = "flashsale-local"

// fields are the members of a token's header or claims; nil leaves one out.
type fields map[string]any

func (f fields) text() string {
	kept := maps.Clone(f)
	maps.DeleteFunc(kept, func(_ string, value any) bool { return value == nil })
	b, err := json.Marshal(kept)
	if err != nil {
		panic(err) // the tests' own values
	}
	return string(b)
}

// with returns the fields with changes.
func (f fields) with(change fields) fields {
	changed := maps.Clone(f)
	maps.Copy(changed, change)
	return changed
}

// claims are those of a good token, with every scope that a route requires.
func (s *system) claims(user string) fields {
	now := time.Now().Unix()
	c := fields{"iss": s.issuer(), "sub": user, "aud": audience, "iat": now, "nbf": now, "exp": now + 3600}
	var scopes []string
	for _, r := range s.routes {
		scopes = append(scopes, r.Scopes...)
	}
	if len(scopes) > 0 {
		c["scope"] = strings.Join(scopes, " ")
	}
	return c
}

// token is a good token of the user.
func (s *system) token(user string) string { return s.signed(s.claims(user)) }

// signed returns a token with the issuer's signature over any claims.
func (s *system) signed(c fields) string { return s.forge(s.key, c.text()) }

// forge signs text that need not be claims. Every token is recorded: no part of it may
// ever be logged.
func (s *system) forge(key *rsa.PrivateKey, claims string) string {
	text := segment(fields{"alg": "RS256", "typ": "JWT", "kid": issuer.KeyID}.text()) + "." + segment(claims)
	signature, err := jwt.SigningMethodRS256.Sign(text, key)
	if err != nil {
		panic(err) // the tests' own keys
	}
	return s.remember(text + "." + base64.RawURLEncoding.EncodeToString(signature))
}

func segment(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
