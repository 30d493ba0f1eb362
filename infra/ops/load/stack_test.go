package main

import (
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

func TestWithoutARunningStackItStartsOne(t *testing.T) {
	free, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, as, program, want string // the text is printed
		code, kept              int    // files or folders
	}{
		{"and leaves nothing behind when all is well", "serve", program, "no stack is running", exitFine, 0},
		{"and keeps its data when a promise is broken", "oversell", program, "make run DATA=", exitBroken, 1},
		{"and shows its last lines when it does not start", "die", program, "the stack was started with", exitNotRun, 0},
		{"unless there is no program", "", filepath.Join(t.TempDir(), "local"), "make host builds it", exitNotRun, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			t.Setenv(actAs, c.as)
			o := small(t, fmt.Sprint("http://127.0.0.1:", free[0]))
			o.local = c.program
			code, out, errs := demonstrated(t, o)
			kept, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*", "*"))
			if code != c.code || !strings.Contains(out+errs, c.want) || err != nil || len(kept) != c.kept {
				t.Errorf("exit %d, kept %v, %v\n%s%s", code, kept, err, out, errs)
			}
		})
	}
}
