package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
)

// small is a small demonstration at an address.
func small(t *testing.T, url string) options {
	t.Helper()
	offline(t)
	o, err := parse([]string{"-demo", "-url", url, "-seed", "7"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o.buyers, o.stock, o.shards, o.inflight, o.patience = 40, 12, 4, 16, 30*time.Second
	return o
}

// demonstrated runs a demonstration.
func demonstrated(t *testing.T, o options) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs strings.Builder
	code = o.run(ctx, &out, &errs, false)
	return code, out.String(), errs.String()
}

// broken returns the promises that do not hold.
func broken(lines []line) []string {
	var promises []string
	for _, l := range lines {
		if len(l.broken) > 0 {
			promises = append(promises, l.promise)
		}
	}
	return promises
}

func TestTheReceiptNamesThePromiseAShopBreaks(t *testing.T) {
	for _, c := range []struct {
		name  string
		flaws flaws
		want  string // on the promise's line; empty: every promise holds
	}{
		{"a shop that keeps its promises", flaws{}, ""},
		{"a shop that is busy at first keeps its promises", flaws{busyFirst: true}, ""},
		{"a shop whose answers get lost keeps its promises", flaws{dropsSomeReply: true}, ""},
		{"one that oversells", flaws{oversells: true}, "  P1 "},
		{"one that has internal errors", flaws{breaks: true}, "  P5 P6 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, url := opened(t, c.flaws)
			code, out, errs := demonstrated(t, small(t, url))
			if !strings.Contains(out, "using the running stack at http://127.0.0.1:") {
				t.Errorf("the running stack was not used:\n%s", out)
			}
			if c.want == "" {
				if code != exitFine || strings.Contains(out, "BROKEN") || !strings.HasSuffix(out, "0 orders pending  ok\n") {
					t.Errorf("exit %d\n%s%s", code, out, errs)
				}
				return
			}
			broken := false
			for line := range strings.Lines(out) {
				broken = broken || strings.HasPrefix(line, c.want) && strings.HasSuffix(line, "BROKEN\n")
			}
			if code != exitBroken || !broken || !strings.Contains(out, "is kept for inspection") {
				t.Errorf("exit %d, want %s broken\n%s%s", code, c.want, out, errs)
			}
		})
	}
}

func TestAnInterruptedDemonstrationHasNoReceipt(t *testing.T) {
	_, url := opened(t, flaws{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &cancelOnWrite{text: "answers to", cancel: cancel}
	if code := small(t, url).run(ctx, out, io.Discard, false); code != exitNotRun || strings.Contains(out.String(), "receipt of sale") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// cancelOnWrite calls cancel when the text is printed.
type cancelOnWrite struct {
	strings.Builder
	text   string
	cancel context.CancelFunc
}

func (c *cancelOnWrite) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), c.text) {
		c.cancel()
	}
	return c.Builder.Write(p)
}

func TestTheWinnersWaitAsLongAsALostMessageMayTake(t *testing.T) {
	if patience := demonstration.patience; patience <= ledger.ResendBound {
		t.Errorf("they wait %v, but an order may be confirmed as late as %v after its acceptance (P8)", patience, ledger.ResendBound)
	}
}
