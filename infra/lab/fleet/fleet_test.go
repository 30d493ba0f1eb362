package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/lab/shop"
)

func TestMain(m *testing.M) {
	if Hosting() {
		if err := Host(strategies, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// strategies are two: one that answers who it is and what it passed, and one
// that cannot be opened.
func strategies(name string) (shop.Spec, bool) {
	switch name {
	case "echo":
		return shop.Spec{Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) { return echo{h}, nil }}, true
	case "closed":
		return shop.Spec{Open: func(context.Context, shop.Host) (shop.Strategy, error) { return nil, errors.New("closed today") }}, true
	}
	return shop.Spec{}, false
}

type echo struct{ host shop.Host }

func (e echo) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	switch user {
	case "nobody":
		return "", errors.New("nobody knows")
	case "checked":
		return shop.Accepted, e.host.CheckUser(ctx, user)
	case "late":
		return shop.Outcome(time.Until(e.host.Now()).Round(time.Hour).String()), nil
	case "passing":
		e.host.At(ctx, shop.Taken)
	}
	return shop.Outcome(fmt.Sprintf("%d of %d for %d at %s", e.host.Server, e.host.Servers, e.host.Stock, e.host.Sale)), nil
}

func (e echo) Close() error {
	return os.WriteFile(filepath.Join(e.host.Dir, fmt.Sprintf("closed-%d", e.host.Server)), nil, 0o644)
}

func start(t *testing.T, o Options) *Fleet {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Program = program
	if o.Spec.Name == "" {
		o.Spec.Name = "echo"
	}
	if o.Place.Stock == 0 {
		o.Place = shop.Place{Sale: "s", Stock: 5, Dir: t.TempDir()}
	}
	if o.Stops == nil {
		o.Stops = func(int) []Stop { return nil }
	}
	if o.CheckTime == nil {
		o.CheckTime = func(string) time.Duration { return 0 }
	}
	f, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f
}

func buy(t *testing.T, f *Fleet, user string, turn int) string {
	t.Helper()
	outcome, err := f.Buy(t.Context(), user, turn)
	if err != nil {
		t.Fatal(err)
	}
	return string(outcome)
}

func TestClicksGoToThreeProcessesInTurn(t *testing.T) {
	f := start(t, Options{})
	for turn := range 6 {
		if got, want := buy(t, f, "a", turn), fmt.Sprintf("%d of 3 for 5 at s", turn%3); got != want {
			t.Errorf("turn %d: %q, want %q", turn, got, want)
		}
	}
}

func TestAStickyUserStaysWithAServer(t *testing.T) {
	f := start(t, Options{Spec: shop.Spec{Sticky: true}})
	servers := map[string]bool{}
	for user := range 20 {
		first := buy(t, f, fmt.Sprint("user", user), 0)
		servers[first] = true
		if again := buy(t, f, fmt.Sprint("user", user), 1); again != first {
			t.Errorf("user %d went to %q and then to %q", user, first, again)
		}
	}
	if len(servers) != 3 {
		t.Errorf("20 users went to %d servers, want 3", len(servers))
	}
}

func TestOneServersClockIsSetWrong(t *testing.T) {
	f := start(t, Options{Spec: shop.Spec{Servers: 2}})
	if err := f.Jump(t.Context(), 1, -2*time.Hour); err != nil {
		t.Fatal(err)
	}
	for turn, want := range []string{"0s", "-2h0m0s"} {
		if got := buy(t, f, "late", turn); got != want {
			t.Errorf("server %d is %s ahead, want %s", turn, got, want)
		}
	}
	f.Kill(1)
	if err := f.Jump(t.Context(), 1, time.Hour); err != nil {
		t.Errorf("a server that is down: %v", err)
	}
}

func TestAKilledServerIsLeftOutUntilItIsBack(t *testing.T) {
	f := start(t, Options{Spec: shop.Spec{Servers: 2}})
	if !f.Kill(1) || f.Kill(1) {
		t.Error("the server was not up, or twice")
	}
	for turn := range 4 {
		if got := buy(t, f, "a", turn); !strings.HasPrefix(got, "0 of") {
			t.Errorf("turn %d went to %q", turn, got)
		}
	}
	f.Kill(0)
	if _, err := f.Buy(t.Context(), "a", 0); !errors.Is(err, ErrNoServer) {
		t.Errorf("got %v, want ErrNoServer", err)
	}
	if err := f.Restart(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := buy(t, f, "a", 0); !strings.HasPrefix(got, "1 of 2") {
		t.Errorf("got %q, want server 1", got)
	}
}

func TestAFrozenServerAnswersOnceItIsThawed(t *testing.T) {
	f := start(t, Options{Spec: shop.Spec{Servers: 2}})
	thaw, err := f.Freeze(1)
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		outcome, err := f.Buy(context.WithoutCancel(t.Context()), "a", 1)
		answer <- fmt.Sprint(outcome, err)
	}()
	for range 3 {
		if got := buy(t, f, "a", 0); !strings.HasPrefix(got, "0 of") {
			t.Errorf("got %q, want server 0", got)
		}
	}
	select {
	case got := <-answer:
		t.Fatalf("the frozen server says %q", got)
	default:
	}
	if err := thaw(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !strings.HasPrefix(got, "1 of") {
		t.Errorf("thawed, it says %q", got)
	}
	f.Kill(1)
	if err := thaw(); err != nil {
		t.Errorf("thaw a server that is dead: %v", err)
	}
	thaw, err = f.Freeze(1)
	if err != nil || thaw() != nil {
		t.Errorf("freeze a server that is down: %v", err)
	}
}

func TestAServerDiesExactlyAtItsStop(t *testing.T) {
	var f *Fleet
	var stops atomic.Int32
	f = start(t, Options{
		Spec: shop.Spec{Servers: 1},
		Stops: func(int) []Stop {
			if stops.Load() > 0 {
				return nil
			}
			return []Stop{{shop.Taken, 2}}
		},
		OnStop: func(number int, s Stop) {
			stops.Add(1)
			if number != 0 || s != (Stop{shop.Taken, 2}) {
				t.Errorf("stopped at %v of server %d", s, number)
			}
			f.Kill(number)
		},
	})
	buy(t, f, "passing", 0)
	if outcome, err := f.Buy(t.Context(), "passing", 0); err == nil {
		t.Errorf("got %q from a server that is dead", outcome)
	}
	if err := f.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		buy(t, f, "passing", 0)
	}
	if n := stops.Load(); n != 1 {
		t.Errorf("%d stops, want 1", n)
	}
}

func TestTheUserServiceIsAskedAndTakesItsTime(t *testing.T) {
	asked := make(chan string, 1)
	f := start(t, Options{Spec: shop.Spec{Servers: 1}, CheckTime: func(user string) time.Duration {
		asked <- user
		return 30 * time.Millisecond
	}})
	begun := time.Now()
	buy(t, f, "checked", 0)
	if user := <-asked; user != "checked" || time.Since(begun) < 30*time.Millisecond {
		t.Errorf("asked for %q, answered after %v", user, time.Since(begun))
	}
}

func TestAnUnknownOutcomeIsAnErrorThatSaysWhy(t *testing.T) {
	f := start(t, Options{Spec: shop.Spec{Servers: 1}})
	if _, err := f.Buy(t.Context(), "nobody", 0); err == nil || !strings.Contains(fmt.Sprint(err), "nobody knows") {
		t.Errorf("got %v", err)
	}
}

func TestStopClosesTheStrategies(t *testing.T) {
	place := shop.Place{Sale: "s", Stock: 1, Dir: t.TempDir()}
	start(t, Options{Place: place}).Stop()
	for i := range 3 {
		if _, err := os.Stat(filepath.Join(place.Dir, fmt.Sprintf("closed-%d", i))); err != nil {
			t.Error(err)
		}
	}
}

func TestAStrategyThatCannotOpenFailsTheStart(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"closed": "closed today", "unheard-of": `there is no "unheard-of"`} {
		_, err := Start(t.Context(), Options{
			Program: program, Spec: shop.Spec{Name: name, Servers: 1}, Place: shop.Place{Stock: 1},
			Stops: func(int) []Stop { return nil },
		})
		if err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
