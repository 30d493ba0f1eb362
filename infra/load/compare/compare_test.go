package main

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheMedianIsTheMiddle(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{100, 1, 2}, 2}, {[]float64{4, 1, 100, 2}, 3},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
	}
}

func TestTheSummaryComparesWithinRoundsAndCountsTheSlowerHalf(t *testing.T) {
	var out strings.Builder
	summary([]*side{
		{seen: seen([][2]float64{{1000, 0}, {2000, 0}, {400, 0}})}, // the machine was busy
		{seen: seen([][2]float64{{750, 0}, {1600, 0}, {200, 0}})},
		{seen: seen([][2]float64{{1500, 0}, {1600, 0}, {250, 0}})},
		{seen: seen([][2]float64{{800, 600}, {800, 600}, {600, 800}})},
		{seen: seen([][2]float64{{700, 300}, {300, 700}, {900, 120}})},
	}, &out)
	for _, want := range []string{"raw 1000/s, stack 750/s accepted, with a bare function 1500/s", "ratio function=0.80\n", "ratio accepted=0.75\n", "ratio both=0.50\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func seen(rounds [][2]float64) []rates {
	var all []rates
	for _, r := range rounds {
		all = append(all, rates{accepted: r[0], finalized: r[1]})
	}
	return all
}

func TestTheRatioOfNoRoundsIsZero(t *testing.T) {
	if got := ratio(5, 0); got != 0 {
		t.Errorf("%v, want 0", got)
	}
}

func TestACrowdBuysUntilItsTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &purchases{sales: []string{"a", "b"}, users: make([]string, 1000)}
		seen := map[[2]int]bool{}
		turn := make(chan struct{}, 1)
		got, err := crowd(t.Context(), 4, 10*time.Second, p, func(_ context.Context, s, u int) error {
			time.Sleep(100 * time.Millisecond)
			turn <- struct{}{}
			if seen[[2]int{s, u}] {
				t.Errorf("user %d bought twice in sale %d", u, s)
			}
			seen[[2]int{s, u}] = true
			<-turn
			return nil
		})
		if rate := got.rates(0).accepted; err != nil || got.orders < 396 || got.orders > 404 || rate < 39 || rate > 41 {
			t.Errorf("%d purchases in %v, error %v; want 400 in 10s", got.orders, got.took, err)
		}
	})
}

func TestACrowdReturnsTheReasonWhenItCannotContinue(t *testing.T) {
	p := &purchases{sales: []string{"a"}, users: make([]string, 10)}
	_, err := crowd(t.Context(), 4, time.Minute, p, func(context.Context, int, int) error { return nil })
	if !errors.Is(err, errUsedUp) {
		t.Errorf("%v, want %v", err, errUsedUp)
	}
	broken := errors.New("broken")
	p = &purchases{sales: []string{"a"}, users: make([]string, 10)}
	_, err = crowd(t.Context(), 1, time.Minute, p, func(context.Context, int, int) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

func TestFlagsOutOfRangeAreRefused(t *testing.T) {
	for _, args := range []string{"-rounds 0", "-callers 0", "-users 1", "-round 1ms", "-round 1m", "-confirmers 0", "-processes -1"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

// This runs the real engine and real stacks for a moment and checks only that both sides
// work and that every figure is printed.
func TestAWholeComparisonPrintsItsRatios(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	bare := filepath.Join(t.TempDir(), "PurchaseFunction", "bootstrap")
	// The flags of `make host`, so that packages are not compiled again.
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-tags", "lambda.norpc", "-ldflags=-s", "-o", bare, "../../bench/bare")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	var out strings.Builder
	args := strings.Fields("-root ../../.. -rounds 1 -round 200ms -users 200 -callers 8 -processes 2 -bare " + bare)
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"raw transactions", "stack with finalize", "ratio function=", "ratio accepted=", "ratio both="} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func TestAMissingBareFunctionIsReported(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	args := strings.Fields("-root ../../.. -rounds 1 -round 200ms -users 64 -bare nowhere/PurchaseFunction/bootstrap")
	if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("err = %v, want the program's path in it", err)
	}
}
