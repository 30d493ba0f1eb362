package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type call struct {
	at       time.Duration
	function string
	payload  string
}

type fakeFunction struct {
	start  time.Time
	answer func(ctx context.Context, call int) (functionError string, err error)

	mu    sync.Mutex
	calls []call
}

func (f *fakeFunction) Invoke(ctx context.Context, function string, payload []byte) ([]byte, string, error) {
	f.mu.Lock()
	f.calls = append(f.calls, call{time.Since(f.start), function, string(payload)})
	n := len(f.calls)
	f.mu.Unlock()
	if f.answer == nil {
		return nil, "", nil
	}
	functionError, err := f.answer(ctx, n)
	return nil, functionError, err
}

func (f *fakeFunction) times() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []time.Duration
	for _, c := range f.calls {
		out = append(out, c.at)
	}
	return out
}

// play runs schedules for some virtual time, which begins on 2000-01-01T00:00:00Z, then stops.
func play(t *testing.T, f *fakeFunction, d time.Duration, o Options, schedules ...Schedule) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f.start = time.Now()
		s, err := New(schedules, f, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(d)
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
}

func schedule(expression string) Schedule {
	return Schedule{Name: "S", Function: "F", Expression: expression, Timezone: "UTC", Enabled: true, MaxEventAge: time.Hour}
}

func TestARateFirstFiresOnePeriodAfterTheStart(t *testing.T) {
	f := &fakeFunction{}
	disabled := schedule("rate(1 minute)")
	disabled.Enabled = false
	play(t, f, 11*time.Minute, Options{}, schedule("rate(5 minutes)"), disabled)
	if got := f.times(); !slices.Equal(got, []time.Duration{5 * time.Minute, 10 * time.Minute}) {
		t.Errorf("fired after %v, want 5 and 10 minutes", got)
	}
	if f.calls[0].function != "F" || f.calls[0].payload != "{}" {
		t.Errorf("call %+v, want function F with {}", f.calls[0])
	}
}

func TestAnAtScheduleFiresOnceAndNeverLate(t *testing.T) {
	f := &fakeFunction{}
	play(t, f, 48*time.Hour, Options{}, schedule("at(2000-01-01T12:00:00)"), schedule("at(1999-12-31T23:59:59)"))
	if got := f.times(); !slices.Equal(got, []time.Duration{12 * time.Hour}) {
		t.Errorf("fired after %v, want only noon", got)
	}
}

func TestWhatWasDueSinceTheSchedulesWereCreatedFiresAtOnce(t *testing.T) {
	f := &fakeFunction{}
	since := time.Date(1999, 12, 31, 23, 59, 30, 0, time.UTC)
	play(t, f, time.Hour, Options{Since: since}, schedule("at(1999-12-31T23:59:59)"), schedule("at(1999-12-31T23:59:29)"))
	if got := f.times(); !slices.Equal(got, []time.Duration{0}) {
		t.Errorf("fired after %v, want at once, and only what was due since then", got)
	}
}

func TestTheDueTimeIsInThePayloadAndStaysTheSameOverRetries(t *testing.T) {
	f := &fakeFunction{answer: func(_ context.Context, n int) (string, error) {
		if n == 1 {
			return "Unhandled", nil
		}
		return "", nil
	}}
	s := schedule("cron(0 1 * * ? *)")
	s.Input = `{"at":"<aws.scheduler.scheduled-time>"}`
	s.RetryAttempts = 1
	play(t, f, 2*time.Hour, Options{}, s)
	if len(f.calls) != 2 {
		t.Fatalf("%d calls, want the failed one and its repetition", len(f.calls))
	}
	for _, c := range f.calls {
		if c.payload != `{"at":"2000-01-01T01:00:00Z"}` {
			t.Errorf("the payload is %s", c.payload)
		}
	}
}

func TestAFailedInvocationIsRepeatedWithGrowingPausesWhileItIsNotTooOld(t *testing.T) {
	for name, tt := range map[string]struct {
		functionError string
		err           error
		age           time.Duration
		want          []time.Duration
	}{
		"a function error":              {"Unhandled", nil, time.Hour, []time.Duration{60 * time.Second, 61 * time.Second, 63 * time.Second, 67 * time.Second}},
		"an invocation that cannot run": {"", errors.New("throttled"), time.Hour, []time.Duration{60 * time.Second, 61 * time.Second, 63 * time.Second, 67 * time.Second}},
		"an event that is too old":      {"Unhandled", nil, 5 * time.Second, []time.Duration{60 * time.Second, 61 * time.Second, 63 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeFunction{answer: func(context.Context, int) (string, error) { return tt.functionError, tt.err }}
			s := schedule("at(2000-01-01T00:01:00)")
			s.RetryAttempts, s.MaxEventAge = 3, tt.age
			play(t, f, time.Hour, Options{}, s)
			if got := f.times(); !slices.Equal(got, tt.want) {
				t.Errorf("invoked after %v, want %v", got, tt.want)
			}
		})
	}
}

func TestASlowInvocationDoesNotPutOffTheNextOne(t *testing.T) {
	f := &fakeFunction{answer: func(context.Context, int) (string, error) {
		time.Sleep(150 * time.Second)
		return "", nil
	}}
	play(t, f, 190*time.Second, Options{}, schedule("rate(1 minute)"))
	if got := len(f.times()); got != 3 {
		t.Errorf("%d invocations in three minutes, want 3", got)
	}
}

func TestWhatWasMissedWhileTheMachineSleptIsMadeUpForOnce(t *testing.T) {
	f := &fakeFunction{}
	play(t, f, 150*time.Second, Options{Since: time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)}, schedule("rate(1 minute)"))
	if got := f.times(); !slices.Equal(got, []time.Duration{0, 0, time.Minute, 2 * time.Minute}) {
		t.Errorf("fired after %v, want no burst for the hour before", got)
	}
}

func TestStoppingAbandonsAnInvocationAfterTheGracePeriodAndDoesNotRepeatIt(t *testing.T) {
	var waited time.Duration
	f := &fakeFunction{answer: func(ctx context.Context, _ int) (string, error) {
		began := time.Now()
		<-ctx.Done()
		waited = time.Since(began)
		return "", ctx.Err()
	}}
	s := schedule("rate(1 minute)")
	s.RetryAttempts = 5
	play(t, f, 61*time.Second, Options{}, s)
	if waited != 11*time.Second || len(f.calls) != 1 {
		t.Errorf("%d invocations, the first for %v; want one for 1 s and the grace period of 10 s", len(f.calls), waited)
	}
}

func TestAScheduleThatCannotWorkIsRefusedEvenWhenDisabled(t *testing.T) {
	for name, s := range map[string]Schedule{
		"a bad expression":    {Name: "S", Expression: "rate(0 days)", Timezone: "UTC"},
		"a bad time zone":     {Name: "S", Expression: "rate(1 day)", Timezone: "Moon"},
		"a bad input":         {Name: "S", Expression: "rate(1 day)", Timezone: "UTC", Input: "{"},
		"an attempt's number": {Name: "S", Expression: "rate(1 day)", Timezone: "UTC", Input: `{"n":"<aws.scheduler.attempt-number>"}`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New([]Schedule{s}, &fakeFunction{}, Options{}); err == nil {
				t.Error("accepted")
			}
		})
	}
}
