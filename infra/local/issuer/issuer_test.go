package issuer

import (
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

func TestTheTokenEndpoint(t *testing.T) {
	i := open(t, "")
	i.groups = map[string]string{"operator": "operators"}
	now := float64(testTime.Unix())
	for query, want := range map[string]map[string]any{
		"sub=alice":                         {"exp": now + 3600},
		"sub=alice&ttl=-60&scope=buy+read":  {"exp": now - 60, "scope": "buy read"},
		"sub=alice&role=operator":           {"exp": now + 3600, "cognito:groups": []any{"operators"}},
		"":                                  nil,
		"sub=":                              nil,
		"sub=%zz":                           nil,
		"sub=alice&ttl=1h":                  nil,
		"sub=alice&ttl=9999999999":          nil,
		"sub=alice&role=operator&role=boss": nil,
	} {
		w := httptest.NewRecorder()
		i.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/_local/token?"+query, nil))
		if want == nil {
			if w.Code != http.StatusBadRequest || strings.TrimSpace(w.Body.String()) == "" {
				t.Errorf("%q is answered %d %q, want 400 with a reason", query, w.Code, w.Body)
			}
			continue
		}
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || w.Header().Get("Cache-Control") != "no-store" {
			t.Fatalf("%q is answered %d %v", query, w.Code, w.Header())
		}
		want["iss"], want["sub"], want["aud"], want["iat"], want["nbf"] = testURL, "alice", "flashsale", now, now
		if diff := cmp.Diff(want, claimsIn(t, i, w.Body.String())); diff != "" {
			t.Errorf("%q has the claims (-want +got):\n%s", query, diff)
		}
	}
}
