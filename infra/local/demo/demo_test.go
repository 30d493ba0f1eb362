package main

import (
	"context"
	"errors"
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

	"flashsale/infra/kit/fakestack"
	"flashsale/infra/local/child"
	"flashsale/shared/ledger"
)

// If this variable is set, the test program stands in for the stack's program: with "serve"
// it serves one until SIGTERM, with "oversell" one that oversells; with "die" it exits.
const actAs = "DEMO_TEST_ACT_AS"

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
	if err := os.MkdirAll(filepath.Join(flags["-data"], "streams"), 0o700); err != nil {
		return 4
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+flags["-api-port"])
	if err != nil {
		return 5
	}
	go func() { _ = http.Serve(l, &fakestack.New(fakestack.Flaws{Oversells: as == "oversell"}).Mux) }()
	<-ctx.Done()
	return 0
}

func TestADemonstrationUsesTheRunningStackOrStartsOne(t *testing.T) {
	free, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, sound := fakestack.Open(t, fakestack.Flaws{})
	_, broken := fakestack.Open(t, fakestack.Flaws{Breaks: true})
	none := fmt.Sprint("http://127.0.0.1:", free[0])
	for name, c := range map[string]struct {
		url, as string
		want    error
		kept    int      // files or folders
		says    []string // in this order
	}{
		"a running one":                   {sound, "", nil, 0, []string{"using the running stack at " + sound, "0 orders pending  ok\n"}},
		"a running one that is broken":    {broken, "", errBroken, 0, []string{"using the running stack at " + broken, "\n  P5 P6 ", "BROKEN"}},
		"its own, of which nothing stays": {none, "serve", nil, 0, []string{"no stack is running", "0 orders pending  ok\n"}},
		"its own that oversells":          {none, "oversell", errBroken, 1, []string{"no stack is running", "make run DATA=", "\n  P1 ", "BROKEN"}},
		"its own that does not start":     {none, "die", child.ErrEnded, 0, []string{"no stack is running", "the stack was started with"}},
		"one of another machine":          {"http://192.0.2.1", "", errRemote, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			t.Setenv(actAs, c.as)
			out, err := ran(t.Context(), c.url, program, func(string) {})
			kept, noPattern := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*", "*"))
			if !errors.Is(err, c.want) || noPattern != nil || len(kept) != c.kept || err == nil && strings.Contains(out, "BROKEN") {
				t.Errorf("error %v, want %v; kept %v\n%s", err, c.want, kept, out)
			}
			rest := out
			for _, want := range c.says {
				_, after, found := strings.Cut(rest, want)
				if rest = after; !found {
					t.Errorf("no %q, or not in the order of %q, in\n%s", want, c.says, out)
				}
			}
		})
	}
}

// ran runs a small demonstration at an address and returns all that it prints.
func ran(ctx context.Context, url, program string, printed func(string)) (string, error) {
	o := standard
	o.url, o.program, o.seed = url, program, 7
	o.buyers, o.stock, o.shards, o.inflight, o.patience = 40, 12, 4, 16, 30*time.Second
	var out strings.Builder
	err := o.run(ctx, writing(func(p []byte) {
		out.Write(p)
		printed(string(p))
	}), &out)
	return out.String(), err
}

type writing func(p []byte)

func (w writing) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func TestAnInterruptedDemonstrationHasNoReceipt(t *testing.T) {
	_, url := fakestack.Open(t, fakestack.Flaws{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, err := ran(ctx, url, "", func(text string) {
		if strings.HasPrefix(text, "answers to") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || strings.Contains(out, "receipt of sale") {
		t.Errorf("error %v, want %v\n%s", err, context.Canceled, out)
	}
}

func TestTheWinnersWaitAsLongAsALostMessageMayTake(t *testing.T) {
	if standard.patience <= ledger.ResendBound {
		t.Errorf("they wait %v, but an order may be confirmed as late as %v after its acceptance (P8)", standard.patience, ledger.ResendBound)
	}
}
