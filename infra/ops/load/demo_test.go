package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/shared/ledger"
)

// demonstrateAt runs a small demonstration on such a stack and returns its lines.
func demonstrateAt(t *testing.T, f flaws) []line {
	t.Helper()
	offline(t)
	_, url := opened(t, f)
	o, err := parse(strings.Fields("-demo -url "+url+" -buyers 40 -stock 12 -shards 4 -inflight 16 -seed 7 -patience 30s"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if f.neverConfirms {
		o.patience = time.Second
	}
	visits, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	receipts, err := o.demonstrateOn(t.Context(), visits, io.Discard, progress{w: io.Discard})
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return receipts[0].lines
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
		want  []string // at least these promises
		exact bool
	}{
		{name: "a shop that keeps its promises", exact: true},
		{name: "a shop that is busy at first keeps its promises", flaws: flaws{busyFirst: true}, exact: true},
		{name: "a shop whose answers get lost keeps its promises", flaws: flaws{dropsSomeReply: true}, exact: true},
		{name: "one that oversells", flaws: flaws{oversells: true}, want: []string{"P1"}},
		{name: "one that answers a repeat differently", flaws: flaws{rewords: true}, want: []string{"P9"}, exact: true},
		{name: "one that never confirms", flaws: flaws{neverConfirms: true}, want: []string{"P8"}, exact: true},
		{name: "one that loses the order items", flaws: flaws{losesOrders: true}, want: []string{"P7"}, exact: true},
		{name: "one that has internal errors", flaws: flaws{breaks: true}, want: []string{"P5 P6"}},
		{name: "one that denies orders it accepted", flaws: flaws{hidesStatus: true}, want: []string{"P8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := demonstrateAt(t, c.flaws)
			got := broken(lines)
			if c.exact {
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("broken promises (-want +got):\n%s%v", diff, lines)
				}
				return
			}
			for _, p := range c.want {
				if !strings.Contains(strings.Join(got, ","), p) {
					t.Errorf("broken promises are %q, want %s among them", got, p)
				}
			}
		})
	}
}

func TestADemonstrationThatCannotMakeItsSaleFails(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.NotFound(w, r)
			return
		}
		newFakeStack(flaws{}).mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	if code, _, stderr := demoRun(t, "-url", server.URL); code != exitNotRun || !strings.Contains(stderr, "create sale") {
		t.Errorf("exit %d, %q, want an error that names the creation of the sale", code, stderr)
	}
}

func TestAnInterruptedDemonstrationHasNoReceipt(t *testing.T) {
	offline(t)
	_, url := opened(t, flaws{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &cancelOnWrite{text: "answers to", cancel: cancel}
	if code := run(ctx, []string{"-demo", "-url", url, "-buyers", "5", "-stock", "1"}, out, io.Discard, false); code != exitNotRun || strings.Contains(out.String(), "receipt of sale") {
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
	if patience, err := time.ParseDuration(preset["patience"]); err != nil || patience <= ledger.ResendBound {
		t.Errorf("they wait %v, but an order may be confirmed as late as %v after its acceptance (P8)", patience, ledger.ResendBound)
	}
}
