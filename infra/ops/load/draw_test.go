package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// drawAt runs a small demonstration of a draw.
func drawAt(t *testing.T, f flaws) (code int, stdout, stderr string) {
	t.Helper()
	_, url := opened(t, f)
	var out, errs bytes.Buffer
	code = run(t.Context(), strings.Fields("-demo -draw -buyers 40 -stock 6 -shards 2 -inflight 8 -patience 20s -drain 20s -url "+url), &out, &errs, false)
	return code, out.String(), errs.String()
}

func TestTheReceiptNamesThePromiseThatADrawBreaks(t *testing.T) {
	offline(t)
	enterTime, leadTime = 1500*time.Millisecond, 2500*time.Millisecond
	t.Cleanup(func() { enterTime, leadTime = 20*time.Second, 16*time.Second })
	for _, c := range []struct {
		name  string
		flaws flaws
		want  string // the promises that are broken
	}{
		{"a draw that keeps its promises", flaws{}, ""},
		{"one that loses an entry", flaws{forgets: true}, "P27"},
		{"one whose order is forged", flaws{forges: true}, "P28"},
		{"one that sells to somebody who was not called", flaws{invites: true}, "P29"},
		{"one that has no bottle for somebody who was called", flaws{refuses: true}, "P30"},
		{"one that begins late", flaws{late: true}, "P31"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := drawAt(t, c.flaws)
			if c.want == "" {
				for _, want := range []string{"the roll is closed: 40 entrants", "the dice have fallen", "call 1: those up to rank", "3 of the called have not come yet", "6 of 6 bottles", "40 of 40 entrants", "6 in turn, 54 refused", "6 called, 6 bought"} {
					if !strings.Contains(stdout, want) {
						t.Errorf("no %q", want)
					}
				}
				if code != exitFine || strings.Contains(stdout, "BROKEN") {
					t.Errorf("exit %d\n%s%s", code, stdout, stderr)
				}
				return
			}
			found := false
			for line := range strings.Lines(stdout) {
				found = found || strings.HasPrefix(line, "  "+c.want) && strings.HasSuffix(line, "BROKEN\n")
			}
			if code != exitBroken || !found {
				t.Errorf("exit %d, want %s broken\n%s%s", code, c.want, stdout, stderr)
			}
		})
	}
}

func TestAStackWithLongTimesSaysHowToStartAnother(t *testing.T) {
	// The stack asks for more time than the demonstration leaves.
	enterTime, leadTime = time.Second, 16*time.Second
	defer func() { enterTime, leadTime = 20*time.Second, 16*time.Second }()
	offline(t)
	h, url := opened(t, flaws{})
	h.seed.Drawing(time.Minute)
	var out, errs bytes.Buffer
	if code := run(t.Context(), strings.Fields("-demo -draw -url "+url), &out, &errs, false); code != exitNotRun || !strings.Contains(errs.String(), "started with PARAMETERS='DrawSettleSeconds=4 DrawDiceSeconds=6 DrawGapSeconds=6'") {
		t.Errorf("exit %d, %s", code, &errs)
	}
}

func TestADrawIsADemonstrationOfItsOwn(t *testing.T) {
	for _, arguments := range []string{"-draw", "-demo -draw -payments"} {
		if _, err := parse(strings.Fields(arguments), io.Discard); err == nil || !strings.Contains(err.Error(), "DRAW=1") {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if o, err := parse(strings.Fields("-demo -draw"), io.Discard); err != nil || o.buyers != 500 || o.stock != 50 {
		t.Errorf("%+v, %v", o, err)
	}
}
