package issuer_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"flashsale/infra/local/issuer"
)

// provider is a shop's own OpenID provider, as small as HTTP.md describes it.
type provider struct {
	*httptest.Server
	key   *rsa.PrivateKey
	kid   string
	names string // the issuer that its document names; its own address when empty
	asked int
}

func newProvider(t *testing.T) *provider {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key, kid: "2026-11"}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/.well-known/openid-configuration" {
		p.asked++
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": p.URL + p.names, "jwks_uri": p.URL + "/keys"})
		return
	}
	n, e := p.key.N.Bytes(), big.NewInt(int64(p.key.E)).Bytes()
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": []map[string]string{
		{"kty": "EC", "kid": "other"},
		{"kty": "RSA", "kid": p.kid, "n": base64.RawURLEncoding.EncodeToString(n), "e": base64.RawURLEncoding.EncodeToString(e)},
	}})
}

// verified is what comes of a token of the provider.
func (p *provider) verified(f *issuer.Foreign) error {
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"iss": p.URL, "sub": "alice"})
	token.Header["kid"] = p.kid
	text, err := token.SignedString(p.key)
	if err != nil {
		return err
	}
	_, err = jwt.Parse(text, func(t *jwt.Token) (any, error) { return f.Key(t.Header["kid"].(string)) })
	return err
}

func TestTokensOfAShopsOwnProviderAreVerifiedByTheKeysThatItPublishes(t *testing.T) {
	p, now := newProvider(t), time.Now()
	f, err := issuer.NewForeign(p.URL, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := p.verified(f); err != nil {
			t.Errorf("its token is refused: %v", err)
		}
	}
	if _, err := f.Key("other"); err == nil || p.asked != 1 {
		t.Errorf("a key that is not RSA: %v, and it was asked %d times, want once", err, p.asked)
	}
	now = now.Add(2 * time.Second)
	p.kid = "2026-12" // the key is changed
	if err := p.verified(f); err != nil || p.asked != 2 {
		t.Errorf("a new key: %v, and it was asked %d times, want twice", err, p.asked)
	}
	p.Close()
	now = now.Add(time.Hour)
	if err := p.verified(f); err != nil {
		t.Errorf("while the provider is away: %v", err)
	}
}

func TestKeysThatSomebodyElseCouldChooseAreNotTaken(t *testing.T) {
	for address, fine := range map[string]bool{
		"https://id.shop.example": true, "http://localhost:8080": true, "http://[::1]:8080/a": true,
		"http://id.shop.example": false, "http://127.0.0.1.shop.example": false, "ftp://127.0.0.1": false, "127.0.0.1:8080": false, "": false,
	} {
		if _, err := issuer.NewForeign(address, time.Now); (err == nil) != fine {
			t.Errorf("%q: %v, want it taken: %t", address, err, fine)
		}
	}
	p := newProvider(t)
	p.names = "/"
	f, err := issuer.NewForeign(p.URL, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.verified(f); err == nil || !strings.Contains(err.Error(), "is of the issuer") {
		t.Errorf("a document of another issuer: %v", err)
	}
}
