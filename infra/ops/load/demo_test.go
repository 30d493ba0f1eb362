package load

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
	"time"

	"github.com/spf13/cobra"

	"flashsale/infra/local/child"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/target"
	"flashsale/shared/ledger"
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
	if err := os.MkdirAll(filepath.Join(flags["-data"], "streams"), 0o700); err != nil {
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

func TestADemonstrationUsesTheRunningStackOrStartsOne(t *testing.T) {
	free, err := child.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, sound := opened(t, flaws{})
	_, broken := opened(t, flaws{breaks: true})
	none := fmt.Sprint("http://127.0.0.1:", free[0])
	for name, c := range map[string]struct {
		url, as    string
		code, kept int      // files or folders
		says       []string // in this order
	}{
		"a running one":                   {sound, "", cli.ExitFine, 0, []string{"using the running stack at " + sound, "0 orders pending  ok\n"}},
		"a running one that is broken":    {broken, "", cli.ExitBad, 0, []string{"using the running stack at " + broken, "is kept for inspection", "\n  P5 P6 ", "BROKEN"}},
		"its own, of which nothing stays": {none, "serve", cli.ExitFine, 0, []string{"no stack is running", "0 orders pending  ok\n"}},
		"its own that oversells":          {none, "oversell", cli.ExitBad, 1, []string{"no stack is running", "make run DATA=", "is kept for inspection", "\n  P1 ", "BROKEN"}},
		"its own that does not start":     {none, "die", cli.ExitUnknown, 0, []string{"no stack is running", "the stack was started with"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			t.Setenv(actAs, c.as)
			code, out := executed(t.Context(), small(t, c.url), "--seed", "7", "--local", program)
			kept, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*", "*"))
			if code != c.code || err != nil || len(kept) != c.kept || code == cli.ExitFine && strings.Contains(out, "BROKEN") {
				t.Errorf("exit %d, kept %v, %v\n%s", code, kept, err, out)
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

// small is a small demonstration at an address.
func small(t *testing.T, url string) *cobra.Command {
	t.Helper()
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true") // the SDK reads no configuration from outside the test
	o := new(options)
	c := o.demonstrating(&target.Flags{URL: url})
	o.buyers, o.stock, o.shards, o.inflight, o.patience = 40, 12, 4, 16, 30*time.Second
	return c
}

func TestAnInterruptedDemonstrationHasNoReceipt(t *testing.T) {
	_, url := opened(t, flaws{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	c := small(t, url)
	c.SetErr(&out)
	c.SetOut(writing(func(p []byte) {
		if out.Write(p); strings.HasPrefix(string(p), "answers to") {
			cancel()
		}
	}))
	if code := cli.Execute(ctx, c, nil); code != cli.ExitUnknown || strings.Contains(out.String(), "receipt of sale") || !strings.Contains(out.String(), "demo: interrupted; ") {
		t.Errorf("exit %d\n%s", code, &out)
	}
}

type writing func(p []byte)

func (w writing) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func TestTheWinnersWaitAsLongAsALostMessageMayTake(t *testing.T) {
	if patience := demonstration.patience; patience <= ledger.ResendBound {
		t.Errorf("they wait %v, but an order may be confirmed as late as %v after its acceptance (P8)", patience, ledger.ResendBound)
	}
}
