package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/infra/local/child"
)

// If this variable is set, the test program stands in for the stack's program: with "serve"
// it serves one until SIGTERM, with "oversell" one that oversells; with "die" it exits.
const actAs = "LOAD_TEST_ACT_AS"

func TestMain(m *testing.M) {
	if as := os.Getenv(actAs); as != "" {
		os.Exit(actAsStack(as, os.Args[1:]))
	}
	os.Exit(m.Run())
}

func actAsStack(as string, args []string) int {
	fmt.Println("the stack was started with", args)
	flags := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		flags[args[i]] = args[i+1]
	}
	if as == "die" {
		return 3
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := os.MkdirAll(flags["-data"], 0o700); err != nil {
		return 4
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+flags["-api-port"])
	if err != nil {
		return 5
	}
	go func() { _ = http.Serve(l, &newFakeStack(flaws{oversells: as == "oversell"}).mux) }()
	<-ctx.Done()
	return 0
}

// demoRun runs the demonstration with these arguments.
func demoRun(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	offline(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = run(ctx, append([]string{"-demo"}, args...), &out, &errs, false)
	return code, out.String(), errs.String()
}

func TestExitCodesOfTheDemonstration(t *testing.T) {
	small := func(address string) []string {
		return []string{"-url", address, "-buyers", "20", "-stock", "4", "-seed", "5"}
	}
	t.Run("0 and a receipt when every promise held", func(t *testing.T) {
		_, url := opened(t, flaws{})
		code, stdout, stderr := demoRun(t, small(url)...)
		if code != exitFine || strings.Contains(stdout, "BROKEN") || !strings.HasSuffix(stdout, "0 orders pending  ok\n") {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
		if !strings.Contains(stdout, "using the running stack at http://127.0.0.1:") {
			t.Errorf("the running stack was not used:\n%s", stdout)
		}
	})
	t.Run("1, the promise and the sale when one is broken", func(t *testing.T) {
		_, url := opened(t, flaws{oversells: true})
		code, stdout, stderr := demoRun(t, small(url)...)
		if code != exitBroken || !strings.Contains(stdout, "BROKEN") || !strings.Contains(stdout, "is kept for inspection") ||
			!strings.Contains(stdout, "units were sold, not 4") {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
	})
	t.Run("0 when asked for help", func(t *testing.T) {
		if code, _, stderr := demoRun(t, "-help"); code != exitFine || !strings.Contains(stderr, "-buyers") {
			t.Errorf("exit %d, %q", code, stderr)
		}
	})
	t.Run("2 when there is neither a stack nor a program to start one", func(t *testing.T) {
		free, err := child.FreePorts(1)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", t.TempDir())
		code, _, stderr := demoRun(t, "-url", fmt.Sprint("http://127.0.0.1:", free[0]), "-local", filepath.Join(t.TempDir(), "local"))
		if code != exitNotRun || !strings.Contains(stderr, "make host builds it") {
			t.Errorf("exit %d, %q", code, stderr)
		}
		empty(t, os.Getenv("TMPDIR"))
	})
}

func TestWithoutARunningStackItStartsOne(t *testing.T) {
	free, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-url", fmt.Sprint("http://127.0.0.1:", free[0]), "-local", program, "-buyers", "20", "-stock", "4"}

	t.Run("and leaves nothing behind when all is well", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		t.Setenv(actAs, "serve")
		if code, stdout, stderr := demoRun(t, args...); code != exitFine {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
		empty(t, os.Getenv("TMPDIR"))
	})
	t.Run("and keeps its data and log when a promise is broken", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		t.Setenv(actAs, "oversell")
		code, stdout, stderr := demoRun(t, args...)
		if code != exitBroken || !strings.Contains(stdout, "the stack was started with") || !strings.Contains(stdout, "make run DATA=") {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
		kept, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*", "*"))
		if err != nil || len(kept) != 2 {
			t.Errorf("kept %v, %v, want data and log", kept, err)
		}
	})
	t.Run("and shows its last lines when it does not start", func(t *testing.T) {
		t.Setenv("TMPDIR", t.TempDir())
		t.Setenv(actAs, "die")
		code, stdout, stderr := demoRun(t, args...)
		if code != exitNotRun || !strings.Contains(stdout, "the stack was started with") || !strings.Contains(stderr, "exit status 3") {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
	})
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
