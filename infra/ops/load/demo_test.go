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
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true") // the SDK reads no configuration from outside the test
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

func TestTheReceiptNamesThePromiseAShopBreaks(t *testing.T) {
	for _, c := range []struct {
		flaws flaws
		want  string // the end of the promise's line
	}{
		{flaws{}, ""},
		{flaws{oversells: true}, "\n  P1 "},
		{flaws{breaks: true}, "\n  P5 P6 "},
	} {
		_, url := opened(t, c.flaws)
		code, out, errs := demonstrated(t, small(t, url))
		_, line, found := strings.Cut(out, c.want)
		line, _, _ = strings.Cut(line, "\n")
		switch {
		case !strings.Contains(out, "using the running stack at http://127.0.0.1:"):
			t.Errorf("the running stack was not used:\n%s", out)
		case c.want == "":
			if code != exitFine || strings.Contains(out, "BROKEN") || !strings.HasSuffix(out, "0 orders pending  ok\n") {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		case code != exitBroken || !found || !strings.HasSuffix(line, "BROKEN") || !strings.Contains(out, "is kept for inspection"):
			t.Errorf("%+v: exit %d, want %s broken\n%s%s", c.flaws, code, c.want, out, errs)
		}
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
