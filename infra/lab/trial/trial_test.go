package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/lab/engines"
	"flashsale/infra/lab/fleet"
	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/tally"
)

func TestMain(m *testing.M) {
	if fleet.Hosting() {
		if err := fleet.Host(shops, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// shops are strategies of one file per order. What one says is in its name.
func shops(name string) (shop.Spec, bool) {
	s := shop.Spec{
		Name: name, Family: "test", Servers: 2,
		Open: func(_ context.Context, h shop.Host) (shop.Strategy, error) {
			return teller{new(atomic.Int64), h, name}, nil
		},
		Orders: func(_ context.Context, p shop.Place) ([]shop.Order, error) {
			files, err := filepath.Glob(filepath.Join(p.Dir, "order-*"))
			return make([]shop.Order, len(files)), err
		},
	}
	return s, name != ""
}

type teller struct {
	late *atomic.Int64
	host shop.Host
	says string
}

func (s teller) Buy(ctx context.Context, user string) (shop.Outcome, error) {
	s.host.At(ctx, shop.Taken)
	switch s.says {
	case "broken":
		return "", errors.New("out of paper")
	case "late":
		// The order follows the answer, as from a queue.
		s.late.Add(1)
		go func() {
			defer s.late.Add(-1)
			time.Sleep(100 * time.Millisecond)
			_ = os.WriteFile(filepath.Join(s.host.Dir, "order-"+user), nil, 0o644)
		}()
		return shop.Accepted, nil
	}
	return shop.SoldOut, nil
}

// Backlog is how many orders are to follow.
func (s teller) Backlog(context.Context) (int, error) { return int(s.late.Load()), nil }

func laboratory(t *testing.T) *Lab {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Lab{Program: program, Dir: t.TempDir(), Engines: engines.NewPool(engines.Options{Path: t.TempDir()})}
}

func crowded(faults ...scenario.Fault) scenario.Scenario {
	s := scenario.Scenario{Name: "test", Stock: 2, Buyers: 4, Spread: time.Millisecond, Patience: 5 * time.Second, Faults: faults}
	if len(faults) > 0 {
		s.Later, s.LaterSpread = 4, time.Millisecond
	}
	return s
}

func try(t *testing.T, name string, sc scenario.Scenario) (Row, error) {
	t.Helper()
	lab := laboratory(t)
	spec, _ := shops(name)
	row, err := lab.Run(t.Context(), spec, sc, 1)
	if left, globErr := filepath.Glob(filepath.Join(lab.Dir, "*")); globErr != nil || len(left) > 0 {
		t.Errorf("the trial left %v behind (%v)", left, globErr)
	}
	return row, err
}

func TestAVerdictIsReadFromTheStoreAndNotFromTheAnswers(t *testing.T) {
	row, err := try(t, "refusing", crowded())
	if err != nil || row.Verdict != tally.Undersells || row.Sold != 0 || row.Unsold != 2 {
		t.Errorf("row %+v (%v), want two units unsold", row, err)
	}
}

func TestOrdersThatFollowTheAnswerAreWaitedFor(t *testing.T) {
	row, err := try(t, "late", crowded())
	if err != nil || row.Sold != 4 || row.Oversold != 2 {
		t.Errorf("row %+v (%v), want all four orders", row, err)
	}
}

func TestCodeThatOnlyFailsIsAnErrorAndNoVerdict(t *testing.T) {
	sc := crowded()
	sc.Patience = 100 * time.Millisecond
	if row, err := try(t, "broken", sc); err == nil || !strings.Contains(fmt.Sprint(err), "out of paper") {
		t.Errorf("row %+v, %v", row, err)
	}
}

func TestAccidentsHappenOnceAndAreRepairedBeforeTheOthersCome(t *testing.T) {
	stop := fleet.Stop{Point: shop.Taken, Pass: 1}
	row, err := try(t, "refusing", crowded(
		scenario.Fault{Do: scenario.KillServer, When: []scenario.Trigger{{Server: 3, Stop: stop}, {Server: 1, Share: 0.9}}},
		scenario.Fault{Do: scenario.AddServer, When: []scenario.Trigger{{Share: 0.5}}},
	))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"server 1 killed at point \"taken\"", "server added after "} {
		if strings.Count(row.Why, want) != 1 {
			t.Errorf("%q does not say once %q", row.Why, want)
		}
	}
	if row.Verdict != tally.Undersells || !strings.Contains(row.Why, "8 buyers were told") {
		t.Errorf("%s: %s, want all eight buyers told", row.Verdict, row.Why)
	}
}

func TestAServerStandsStillAndGoesOnWhereItWas(t *testing.T) {
	row, err := try(t, "refusing", crowded(
		scenario.Fault{Do: scenario.FreezeServer, When: []scenario.Trigger{{Server: 1, Stop: fleet.Stop{Point: shop.Taken, Pass: 1}}, {Share: 0.9}}},
	))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(row.Why, `server 1 stood still at point "taken"`) || !strings.Contains(row.Why, "8 buyers were told") {
		t.Errorf("%q: want server 1 frozen and all eight buyers told", row.Why)
	}
}

// frail is an engine that notes what happens to it.
type frail struct {
	engines.Engine
	mu   sync.Mutex
	said []string
}

func (f *frail) note(text string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, text)
	return nil
}

func (f *frail) Crash() error                  { return f.note("crash") }
func (f *frail) Recover(context.Context) error { return f.note("recover") }

func TestAnEngineIsDeadBeforeThePurchaseGoesOn(t *testing.T) {
	stop := fleet.Stop{Point: shop.Taken, Pass: 3}
	e := &frail{}
	n := newNemesis(t.Context(), shop.Spec{}, crowded(scenario.Fault{
		Do: scenario.KillEngine, When: []scenario.Trigger{{Server: 1, Stop: stop}, {Share: 0.5}},
	}), []engines.Engine{e})
	if s := n.stops(0); s != nil {
		t.Errorf("server 0 stops at %v", s)
	}
	if s := n.stops(1); len(s) != 1 || s[0] != stop {
		t.Errorf("server 1 stops at %v", s)
	}
	n.at(0, stop) // not that server
	n.at(1, stop)
	e.mu.Lock()
	if len(e.said) == 0 || e.said[0] != "crash" {
		t.Errorf("the purchase goes on after %v", e.said)
	}
	e.mu.Unlock()
	<-n.settled
	n.answered(4, 4) // it has happened already
	if err := n.rest(); err != nil {
		t.Error(err)
	}
	if len(e.said) != 2 || e.said[1] != "recover" || n.stops(1) != nil {
		t.Errorf("the engine had %v, server 1 stops at %v", e.said, n.stops(1))
	}
}

// ailing is one that serves on for a moment.
type ailing struct{ frail }

func (a *ailing) Ail() time.Duration {
	_ = a.note("ail")
	return time.Millisecond
}

func TestAnEngineWhoseDeathAnnouncesItselfServesOnUntilThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ailing{}
		n := newNemesis(t.Context(), shop.Spec{}, crowded(scenario.Fault{
			Do: scenario.KillEngine, When: []scenario.Trigger{{Share: 0.25}},
		}), []engines.Engine{e})
		n.answered(2, 8)
		time.Sleep(answeredLimit / 2)
		if got := strings.Join(e.said, " "); got != "ail" {
			t.Errorf("before anybody else was answered the engine had %s", got)
		}
		n.answered(2+answeredMeanwhile, 8)
		if err := n.rest(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(e.said, " "); got != "ail crash recover" {
			t.Errorf("the engine had %s", got)
		}
	})
}

// assembled is an engine with parts and a clock.
type assembled struct{ frail }

func (a *assembled) KillPart(_ context.Context, p engines.Part) (func(context.Context) error, error) {
	return func(context.Context) error { return a.note("repair") }, a.note(string(p))
}

func (a *assembled) Jump(ahead time.Duration) error { return a.note(ahead.String()) }

func TestAPartDiesAloneAndAClockJumpsAtTheirMoment(t *testing.T) {
	for do, want := range map[scenario.Action]string{
		scenario.KillQueue: "queue repair", scenario.KillAPI: "API repair", scenario.KillFinalizer: "finalizer repair",
		scenario.JumpEngineClock: scenario.ClockJump.String(),
	} {
		e := &assembled{}
		n := newNemesis(t.Context(), shop.Spec{}, crowded(scenario.Fault{Do: do, When: []scenario.Trigger{{Share: 0.5}}}), []engines.Engine{e})
		n.answered(1, 4)
		if len(e.said) != 0 {
			t.Errorf("%s: %v before its moment", do, e.said)
		}
		n.answered(2, 4)
		if err := n.rest(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(e.said, " "); got != want {
			t.Errorf("%s: the engine had %q, want %q", do, got, want)
		}
	}
}
