package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/child"
	"flashsale/infra/local/launch"
)

// patience bounds every wait for an expected event.
const patience = time.Minute

// localStack runs a stack as `make run` does, with these variables, until the test ends.
func localStack(t *testing.T, variables ...string) string {
	t.Helper()
	if _, err := os.Stat(launch.Built(root)); err != nil {
		t.Fatalf("the stack is not built: run make test (%v)", err)
	}
	program, err := exec.LookPath("make")
	if err != nil {
		t.Fatal(err)
	}
	ports, err := child.FreePorts(5)
	if err != nil {
		t.Fatal(err)
	}
	// -o: do not rebuild what make test has built.
	args := append([]string{"--no-print-directory", "-o", "host", "run", "DATA=" + t.TempDir()}, variables...)
	for i, name := range []string{"API_PORT", "LAMBDA_PORT", "DYNAMODB_PORT", "SQS_PORT", "OPERATE_PORT"} {
		args = append(args, fmt.Sprintf("%s=%d", name, ports[i]))
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	var said child.Tail
	p := child.Program{Name: "stack", ReadyURL: url + "/_local/health", Command: child.Command{
		Path: program, Args: args, Dir: root, Env: append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL="), Output: &said,
		OwnGroup: true, // a terminal sends Ctrl-C to the whole group
	}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = p.Start(ctx)
	t.Cleanup(func() {
		if p.Ended() {
			return
		}
		_ = syscall.Kill(-p.Pid(), syscall.SIGINT)
		_ = p.Failure() // wait until the stack has ended; make's exit status is that of an interruption
		if text := said.String(); !strings.Contains(text, "stopping ...") || strings.Contains(text, "flashsale: ") {
			t.Errorf("the stack did not stop as it should:\n%s", text)
		}
	})
	if err != nil {
		t.Fatalf("%v:\n%s", err, &said)
	}
	return url
}

func TestTheSmokeTestAndTheRehearsalRunOnTheLocalStack(t *testing.T) {
	t.Parallel()
	var asked atomic.Bool
	guard := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Store(true)
		fmt.Fprint(w, `{"eligible":true}`)
	}))
	t.Cleanup(guard.Close)
	url := localStack(t, "PARAMETERS=EligibilityUrl="+guard.URL+"/check EligibilityTimeoutMs=1000")
	b := newBench(t, "1000")
	b.program("aws", "echo asked >&2; exit 1\n")

	out, err := b.make("smoke", "URL="+url)
	for _, check := range []string{"buyer's page: script", "another purchase", "the order ", "unsigned: stripe", "unsigned: standard-webhooks", "the order, not paid", "the last unit is sold", "the receipt"} {
		if err != nil || !strings.Contains(out, "ok    "+check) {
			t.Errorf("%v; no check of %q that passes:\n%s", err, check, out)
		}
	}
	if !asked.Load() {
		t.Error("make run PARAMETERS=…: the eligibility check on this machine was not called")
	}
	report := filepath.Join(t.TempDir(), "a report.html")
	out, err = b.make("rehearse", "URL="+url, "REPORT="+report, "RATE=10", "DURATION=2s", "STOCK=5", "SHARDS=1")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"of 5 units on 1 shards", "balanced: stock left + claims = seeded", "no broken promise was seen",
		"5 orders; what they cost is counted on AWS only", "report: " + report,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	tokens := tokensOf(t, b, url, 3)
	buyer := client.New(url, client.Options{Connections: len(tokens)})
	defer buyer.Close()
	for i, token := range tokens {
		if a, err := buyer.Buy(t.Context(), "demo", token, ""); err != nil || a.Status != http.StatusAccepted {
			t.Errorf("token %d of make tokens: %v, %v, want an accepted purchase", i, a, err)
		}
	}
}

// tokensOf returns the tokens that `make tokens` writes.
func tokensOf(t *testing.T, b *bench, url string, n int) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens of buyers")
	out, err := b.make("tokens", "URL="+url, fmt.Sprint("N=", n), "OUT="+file)
	if err != nil || !strings.Contains(out, fmt.Sprint(n, " access tokens are in "+file)) {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tokens := strings.Fields(string(text))
	if different := len(slices.Compact(slices.Sorted(slices.Values(tokens)))); different != n {
		t.Fatalf("%d different tokens, want %d", different, n)
	}
	return tokens
}
