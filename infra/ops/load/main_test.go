package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// store is a small correct shop over HTTP with everything that a run needs of a stack.
type store struct {
	url     string
	mu      sync.Mutex
	stock   int
	claims  map[string]string
	seeded  string
	answers func(w http.ResponseWriter) bool // may answer a click itself
}

func newStore(t *testing.T) *store {
	s := &store{claims: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_local/health", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"lambda":%q,"table":"T"}`, s.url)
	})
	mux.HandleFunc("GET /_local/token", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "t-"+r.FormValue("sub")) })
	mux.HandleFunc("POST /2015-03-31/functions/SeedFunction/invocations", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			SaleID        string
			Stock, Shards int
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		s.stock, s.seeded = in.Stock, in.SaleID
		fmt.Fprintf(w, `{"saleId":%q,"seeded":%d,"shards":%d}`, in.SaleID, in.Stock, in.Shards)
	})
	mux.HandleFunc("POST /sales/{sale}/orders", s.order)
	mux.HandleFunc("GET /sales/{sale}/orders/me", s.status)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *store) order(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user, key := r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key")
	claim := fmt.Sprintf(`{"claimId":%q,"saleId":%q,"state":"PENDING"}`, user+key, r.PathValue("sale"))
	w.Header().Set("Retry-After", "0")
	switch held := s.claims[user]; {
	case s.answers != nil && s.answers(w):
	case held != "" && held == key || held == "" && s.stock > 0:
		if held == "" {
			s.stock--
			s.claims[user] = key + "#"
			if key != "" {
				s.claims[user] = key
			}
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, claim)
	case held != "":
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, `{"code":"already-ordered","claim":%s}`, claim)
	default:
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"code":"sold-out"}`)
	}
}

func (s *store) status(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user := r.Header.Get("Authorization")
	fmt.Fprintf(w, `{"claimId":%q,"saleId":%q,"state":"CONFIRMED","orderId":%q}`,
		user+strings.TrimSuffix(s.claims[user], "#"), r.PathValue("sale"), "o-"+user)
}

// operator makes a program that prints the text like the operator's receipt.
func operator(t *testing.T, text string, code int) string {
	path := filepath.Join(t.TempDir(), "operator")
	script := fmt.Sprintf("#!/bin/sh\necho \"%s: $*\"\nexit %d\n", text, code)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// loaded runs the program for half a second.
func loaded(t *testing.T, more ...string) (code int, out, report string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.html")
	var stdout, stderr strings.Builder
	args := append([]string{"-rate", "200", "-duration", "500ms", "-seed", "5", "-report", path}, more...)
	code = run(t.Context(), args, &stdout, &stderr, false)
	page, _ := os.ReadFile(path) // there is none if it could not run
	return code, stdout.String() + stderr.String(), string(page)
}

func TestARunMakesASaleLoadsItAndShowsTheReceipt(t *testing.T) {
	s := newStore(t)
	code, out, report := loaded(t, "-url", s.url, "-operator", operator(t, "balanced", 0))
	if code != exitFine {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, want := range []string{"no broken promise was seen", "balanced: -api-port", "receipt -sale " + s.seeded, "sold-out"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if !strings.Contains(report, "<svg") || !strings.Contains(report, s.seeded) {
		t.Error("there is no report of the sale")
	}
	if s.stock != 0 || len(s.claims) == 0 {
		t.Errorf("%d units left after %d claims", s.stock, len(s.claims))
	}
}

func TestABrokenPromiseGivesExitCodeOne(t *testing.T) {
	t.Run("an internal error", func(t *testing.T) {
		s := newStore(t)
		s.answers = func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusInternalServerError); return true }
		if code, out, _ := loaded(t, "-url", s.url, "-operator", operator(t, "balanced", 0)); code != exitBroken || !strings.Contains(out, "BROKEN") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	t.Run("books that do not balance", func(t *testing.T) {
		s := newStore(t)
		if code, out, report := loaded(t, "-url", s.url, "-operator", operator(t, "NOT BALANCED", 1)); code != exitBroken || !strings.Contains(report, "NOT BALANCED") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	t.Run("a receipt that cannot be made", func(t *testing.T) {
		s := newStore(t)
		if code, out, _ := loaded(t, "-url", s.url, "-operator", filepath.Join(t.TempDir(), "none")); code != exitBroken {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
}

func TestAMissingStackIsReported(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	code, out, _ := loaded(t, "-url", s.URL)
	if code != exitNotRun || !strings.Contains(out, "make run") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestADeployedSaleIsLoadedWithTokensFromAFile(t *testing.T) {
	s := newStore(t)
	s.stock = 1000
	var tokens strings.Builder
	for i := range 300 {
		fmt.Fprintf(&tokens, "token-%d\n", i)
	}
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(tokens.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, report := loaded(t, "-url", s.url, "-allow-remote", "-sale", "theirs", "-tokens", file)
	if code != exitFine || !strings.Contains(out, "give the deployed table") || s.seeded != "" {
		t.Errorf("exit code %d, seeded %q\n%s", code, s.seeded, out)
	}
	if strings.Contains(out+report, "token-1") {
		t.Error("a token is printed")
	}
	code, out, _ = loaded(t, "-url", s.url, "-allow-remote", "-sale", "theirs", "-tokens", file, "-table", "T", "-operator", operator(t, "balanced", 0))
	if code != exitFine || !strings.Contains(out, "balanced: -table T receipt -sale theirs") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
