package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
)

// operator makes a program that prints the text like the operator's receipt.
func operator(t *testing.T, text string, code int) string {
	t.Helper()
	return written(t, "operator", fmt.Sprintf("#!/bin/sh\necho \"%s: $*\"\nexit %d\n", text, code))
}

// written makes a program or file of that text.
func written(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
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

func TestARunLoadsASaleAndShowsTheReceipt(t *testing.T) {
	var tokens strings.Builder
	for i := range 300 {
		fmt.Fprintf(&tokens, "token-of-%d\n", i)
	}
	theirs := []string{"-allow-remote", "-sale", "theirs", "-tokens", written(t, "tokens", tokens.String())}
	balanced := operator(t, "balanced", 0)
	for name, c := range map[string]struct {
		flaws    flaws
		args     []string
		operator string
		code     int
		says     []string
		page     string
	}{
		"of its own":                    {args: []string{"-stock", "5"}, operator: balanced, says: []string{"no broken promise was seen", "balanced: -api-port ", "receipt -sale load-", "sold-out"}, page: "<svg"},
		"a rehearsal":                   {args: []string{"-rehearse", "-stock", "5"}, operator: balanced, says: []string{"rehearsal: sale rehearsal-", " of 5 units on 5 shards at ", "receipt -sale rehearsal-", "\n5 orders; what they cost is counted on AWS only"}, page: "<svg"},
		"a deployed one":                {args: theirs, says: []string{"give the deployed table"}, page: "<svg"},
		"a deployed one with its table": {args: append(theirs, "-table", "T"), operator: balanced, says: []string{"balanced: -table T receipt -sale theirs"}, page: "<svg"},
		"with an internal error":        {flaws: flaws{breaks: true}, operator: balanced, code: exitBroken, says: []string{"BROKEN"}, page: "<b>Broken.</b>"},
		"whose books do not balance":    {operator: operator(t, "NOT BALANCED", 1), code: exitBroken, says: []string{"NOT BALANCED"}, page: "<b>Broken.</b>"},
		"without a receipt":             {operator: filepath.Join(t.TempDir(), "none"), code: exitBroken, says: []string{"no receipt: "}, page: "<b>Broken.</b>"},
	} {
		t.Run(name, func(t *testing.T) {
			h, url := opened(t, c.flaws)
			if _, err := h.environment().Create(t.Context(), sale.Creation{SaleID: "theirs", Name: "x", Stock: 1000, Shards: 1, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
			code, out, page := loaded(t, append([]string{"-url", url, "-operator", c.operator}, c.args...)...)
			if code != c.code || !strings.Contains(page, c.page) || strings.Contains(out+page, "token-of-1") {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, out)
			}
			for _, want := range c.says {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

func TestAMissingStackIsReported(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	code, out, _ := loaded(t, "-url", s.URL)
	if code != exitNotRun || !strings.Contains(out, "make run") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
