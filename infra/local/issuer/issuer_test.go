package issuer

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
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

// claimsIn verifies a token with the issuer's key.
func claimsIn(t *testing.T, i *Issuer, token string) map[string]any {
	t.Helper()
	claims := jwt.MapClaims{}
	if _, err := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithoutClaimsValidation()).
		ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) { return i.Key(t.Header["kid"].(string)) }); err != nil {
		t.Fatalf("verify token: %v", err)
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
}

func TestKeyKnowsOnlyItsOwnID(t *testing.T) {
	if _, err := open(t, "").Key("other"); !errors.Is(err, errUnknownKey) {
		t.Errorf("got %v, want %v", err, errUnknownKey)
	}
}

func TestTheKeyOutlivesARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "when", "absent")
	first, second := open(t, dir), open(t, dir)
	if !first.key.Equal(second.key) {
		t.Error("the keys differ")
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

func TestAFileThatIsNoKeyIsNamedAndStays(t *testing.T) {
	for name, text := range map[string]string{
		"an empty file": "",
		"noise":         "noise",
		"half a key":    "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, keyFile)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Options{URL: testURL, Audience: "flashsale"}); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("Open: %v, want an error that names %s", err, path)
			}
			if kept, err := os.ReadFile(path); err != nil || string(kept) != text {
				t.Errorf("the file is now %q, %v", kept, err)
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
		"no subject":              "",
		"an empty subject":        "sub=",
		"a ttl that is no number": "sub=alice&ttl=1h",
		"a ttl of centuries":      "sub=alice&ttl=9999999999",
		"a broken query":          "sub=%zz",
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
