package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

const testURL = "http://127.0.0.1:3000/_local"

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func open(t *testing.T, dir string) *Issuer {
	t.Helper()
	i, err := Open(dir, Options{URL: testURL, Audience: "flashsale", Now: func() time.Time { return testTime }})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return i
}

// publishedKey reads the key from the key set as an outside verifier would.
func publishedKey(t *testing.T, jwks []byte) (kid string, key *rsa.PublicKey) {
	t.Helper()
	var set struct {
		Keys []struct{ Kty, Use, Alg, Kid, N, E string }
	}
	if err := json.Unmarshal(jwks, &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("key set %s: %v", jwks, err)
	}
	k := set.Keys[0]
	if k.Kty != "RSA" || k.Use != "sig" || k.Alg != "RS256" {
		t.Errorf("key says %s %s %s, want RSA sig RS256", k.Kty, k.Use, k.Alg)
	}
	n, err := base64.RawURLEncoding.DecodeString(k.N)
	if err != nil {
		t.Fatalf("modulus: %v", err)
	}
	e, err := base64.RawURLEncoding.DecodeString(k.E)
	if err != nil {
		t.Fatalf("exponent: %v", err)
	}
	return k.Kid, &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
}

func claimsIn(t *testing.T, i *Issuer, token string) map[string]any {
	t.Helper()
	kid, key := publishedKey(t, i.JWKS())
	claims := jwt.MapClaims{}
	parsed, err := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation()).
		ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return key, nil })
	if err != nil {
		t.Fatalf("verify token with the published key: %v", err)
	}
	if parsed.Header["kid"] != kid {
		t.Errorf("kid is %v, want %v", parsed.Header["kid"], kid)
	}
	if id, _ := claims["jti"].(string); id == "" {
		t.Error("the token has no jti")
	}
	delete(claims, "jti")
	return claims
}

func TestTokensSayWhatTheyWereAskedToSay(t *testing.T) {
	i := open(t, "")
	now := float64(testTime.Unix())
	for _, c := range []struct {
		name string
		ask  Claims
		want map[string]any
	}{
		{
			"a plain token is for the default audience",
			Claims{Subject: "alice", TTL: time.Hour},
			map[string]any{"sub": "alice", "aud": "flashsale", "exp": now + 3600},
		},
		{
			"a negative time to live makes an expired token",
			Claims{Subject: "alice", TTL: -time.Minute},
			map[string]any{"sub": "alice", "aud": "flashsale", "exp": now - 60},
		},
		{
			"scope and one other audience",
			Claims{Subject: "alice", TTL: time.Hour, Scope: "buy read", Audience: "other"},
			map[string]any{"sub": "alice", "aud": "other", "scope": "buy read", "exp": now + 3600},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			token, err := i.Token(c.ask)
			if err != nil {
				t.Fatalf("Token: %v", err)
			}
			c.want["iss"], c.want["iat"], c.want["nbf"] = testURL, now, now
			if diff := cmp.Diff(c.want, claimsIn(t, i, token)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a token without a subject is refused", func(t *testing.T) {
		if _, err := i.Token(Claims{TTL: time.Hour}); err == nil {
			t.Error("Token succeeded")
		}
	})
}

func TestKeyKnowsOnlyItsOwnID(t *testing.T) {
	i := open(t, "")
	kid, want := publishedKey(t, i.JWKS())
	if got, err := i.Key(kid); err != nil || !got.Equal(want) {
		t.Errorf("Key(%q) = %v, %v", kid, got, err)
	}
	for _, other := range []string{"", "other"} {
		if _, err := i.Key(other); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("Key(%q): %v, want ErrUnknownKey", other, err)
		}
	}
}

func TestTheKeyOutlivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "when", "absent")
	first, second := open(t, dir), open(t, dir)
	if first.kid != second.kid {
		t.Errorf("key ids %s and %s differ", first.kid, second.kid)
	}
	info, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("key file has mode %v, want 0600", info.Mode())
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("the folder holds %v, want only the key", names)
	}
}

func TestIssuersOpenedAtOnceAgreeOnOneKey(t *testing.T) {
	dir := t.TempDir()
	kids := make([]string, 4)
	var wg sync.WaitGroup
	for n := range kids {
		wg.Go(func() {
			i, err := Open(dir, Options{URL: testURL, Audience: "flashsale"})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			kids[n] = i.kid
		})
	}
	wg.Wait()
	for _, kid := range kids {
		if kid != kids[0] {
			t.Fatalf("key ids differ: %v", kids)
		}
	}
}

func TestAKeyReadableByOthersIsTightened(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	path := filepath.Join(dir, keyFile)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file has mode %v (%v), want 0600", info.Mode(), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	block := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der})
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"an empty key file":        nil,
		"a key file that is noise": []byte("noise"),
		"half a key":               []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
		"an elliptic key":          block(curve),
		"a short key":              block(short),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, keyFile)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir, Options{URL: testURL, Audience: "flashsale"})
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("Open: %v, want an error that names %s", err, path)
			}
			if kept, _ := os.ReadFile(path); string(kept) != string(text) {
				t.Error("the file was changed")
			}
		})
	}
	for name, o := range map[string]Options{
		"a URL without a host": {URL: "local", Audience: "flashsale"},
		"another scheme":       {URL: "ftp://127.0.0.1", Audience: "flashsale"},
		"no audience":          {URL: testURL},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open("", o); err == nil {
				t.Error("Open succeeded")
			}
		})
	}
}

func get(i *Issuer, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	i.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w
}

func TestTheTokenEndpoint(t *testing.T) {
	i := open(t, "")
	t.Run("answers the bare token", func(t *testing.T) {
		w := get(i, "/_local/token?sub=alice&ttl=-60&scope=buy+read&aud=a")
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Fatalf("answer %d %s", w.Code, w.Header().Get("Content-Type"))
		}
		if got := w.Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control is %q", got)
		}
		now := float64(testTime.Unix())
		want := map[string]any{
			"iss": testURL, "sub": "alice", "iat": now, "nbf": now, "exp": now - 60,
			"aud": "a", "scope": "buy read",
		}
		if diff := cmp.Diff(want, claimsIn(t, i, w.Body.String())); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	})
	t.Run("gives an hour by default", func(t *testing.T) {
		claims := claimsIn(t, i, get(i, "/_local/token?sub=alice").Body.String())
		if want := float64(testTime.Add(time.Hour).Unix()); claims["exp"] != want {
			t.Errorf("exp is %v, want %v", claims["exp"], want)
		}
	})
	for name, query := range map[string]string{
		"no subject":                "",
		"an empty subject":          "sub=",
		"a subject that is no text": "sub=%ff",
		"a ttl that is no number":   "sub=alice&ttl=1h",
		"a ttl beyond ten years":    "sub=alice&ttl=315360001",
		"a broken query":            "sub=%zz",
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			w := get(i, "/_local/token?"+query)
			if w.Code != http.StatusBadRequest || strings.TrimSpace(w.Body.String()) == "" {
				t.Errorf("answer %d %q, want 400 with a reason", w.Code, w.Body)
			}
		})
	}
	t.Run("takes GET only", func(t *testing.T) {
		w := httptest.NewRecorder()
		i.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/_local/token?sub=alice", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("answer %d, want 405", w.Code)
		}
	})
}

func TestTheKeySetIsServed(t *testing.T) {
	i := open(t, "")
	keys := get(i, "/_local/jwks.json")
	if keys.Body.String() != string(i.JWKS()) || keys.Header().Get("Content-Type") != "application/json" {
		t.Errorf("key set is %s %q", keys.Header().Get("Content-Type"), keys.Body)
	}
}
