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
	h, url := opened(t, flaws{})
	code, out, report := loaded(t, "-url", url, "-operator", operator(t, "balanced", 0))
	if code != exitFine {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	sales := h.stored("SALES")
	for _, want := range []string{"no broken promise was seen", "balanced: -api-port", "receipt -sale " + sales[0], "sold-out"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if !strings.Contains(report, "<svg") || !strings.Contains(report, sales[0]) {
		t.Error("there is no report of the sale")
	}
}

func TestARehearsalIsASaleOfItsOwn(t *testing.T) {
	h, url := opened(t, flaws{})
	code, out, _ := loaded(t, "-rehearse", "-url", url, "-stock", "5", "-operator", operator(t, "balanced", 0))
	sales := h.stored("SALES")
	for _, want := range []string{"rehearsal: sale " + sales[0] + " of 5 units on 5 shards at " + url, "balanced: -api-port", "no broken promise was seen", "\n5 orders; what they cost is counted on AWS only"} {
		if code != exitFine || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, out)
		}
	}
	if code, out, _ := loaded(t, "-rehearse", "-url", "", "-env", "dev"); code != exitNotRun || !strings.Contains(out, "ALLOW_REMOTE=1") {
		t.Errorf("on AWS: exit code %d\n%s", code, out)
	}
}

func TestABrokenPromiseGivesExitCodeOne(t *testing.T) {
	balanced := operator(t, "balanced", 0)
	for name, c := range map[string]struct {
		flaws          flaws
		operator, says string
	}{
		"an internal error":                    {flaws{breaks: true}, balanced, "BROKEN"},
		"API Gateway answers for the function": {flaws{dies: true}, balanced, "BROKEN"},
		"books that do not balance":            {flaws{}, operator(t, "NOT BALANCED", 1), "NOT BALANCED"},
		"a receipt that cannot be made":        {flaws{}, filepath.Join(t.TempDir(), "none"), "no receipt: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, url := opened(t, c.flaws)
			code, out, report := loaded(t, "-url", url, "-operator", c.operator)
			if code != exitBroken || !strings.Contains(out, c.says) || !strings.Contains(report, "<b>Broken.</b>") {
				t.Errorf("exit code %d\n%s", code, out)
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

func TestADeployedSaleIsLoadedWithTokensFromAFile(t *testing.T) {
	h, url := opened(t, flaws{})
	if _, err := h.environment().Create(t.Context(), sale.Creation{SaleID: "theirs", Name: "x", Stock: 1000, Shards: 1, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	var tokens strings.Builder
	for i := range 300 {
		fmt.Fprintf(&tokens, "token-of-%d\n", i)
	}
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(tokens.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, report := loaded(t, "-url", url, "-allow-remote", "-sale", "theirs", "-tokens", file)
	if code != exitFine || !strings.Contains(out, "give the deployed table") || len(h.stored("SALES")) != 1 {
		t.Errorf("exit code %d, sales %q\n%s", code, h.stored("SALES"), out)
	}
	if strings.Contains(out+report, "token-of-1") {
		t.Error("a token is printed")
	}
	code, out, _ = loaded(t, "-url", url, "-allow-remote", "-sale", "theirs", "-tokens", file, "-table", "T", "-operator", operator(t, "balanced", 0))
	if code != exitFine || !strings.Contains(out, "balanced: -table T receipt -sale theirs") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
