package issuer

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func get(i *Issuer, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	i.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w
}

func TestTheTokenEndpoint(t *testing.T) {
	i := open(t, "")
	t.Run("answers the bare token", func(t *testing.T) {
		w := get(i, "/_local/token?sub=alice&ttl=-60&scope=buy+read&aud=a&aud=b&client_id=app")
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Fatalf("answer %d %s", w.Code, w.Header().Get("Content-Type"))
		}
		if got := w.Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control is %q", got)
		}
		now := float64(testTime.Unix())
		want := map[string]any{
			"iss": testURL, "sub": "alice", "iat": now, "nbf": now, "exp": now - 60,
			"aud": []any{"a", "b"}, "scope": "buy read", "client_id": "app",
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

func TestDiscoveryLeadsToTheKeys(t *testing.T) {
	i := open(t, "")
	w := get(i, "/_local/.well-known/openid-configuration")
	var document struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
		t.Fatalf("document %q: %v", w.Body, err)
	}
	if document.Issuer != testURL || document.JWKSURI != testURL+"/jwks.json" {
		t.Errorf("document says %+v", document)
	}
	keys := get(i, "/_local/jwks.json")
	if keys.Body.String() != string(i.JWKS()) || keys.Header().Get("Content-Type") != "application/json" {
		t.Errorf("key set is %s %q", keys.Header().Get("Content-Type"), keys.Body)
	}
}

func FuzzTokenQuery(f *testing.F) {
	f.Add("sub=alice&ttl=-1&scope=a+b&aud=x&aud=y&client_id=c")
	f.Add("sub=%ff;&ttl=9223372036854775807")
	f.Fuzz(func(t *testing.T, query string) {
		c, err := claimsOf(query)
		if err != nil {
			return
		}
		if c.Subject == "" || !utf8.ValidString(c.Subject) || c.TTL > maxTTL || c.TTL < -maxTTL {
			t.Errorf("claimsOf(%q) = %+v", query, c)
		}
	})
}
