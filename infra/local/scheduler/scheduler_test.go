package scheduler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/local/eventsource/eventsourcetest"
)

type (
	fakeFunction = eventsourcetest.Function
	call         = eventsourcetest.Batch
)

// times are when the function was invoked, since the beginning of virtual time.
func times(f *fakeFunction) (all []time.Duration) {
	for _, c := range f.Seen() {
		all = append(all, c.At.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
	}
	return all
}

// play runs schedules for some virtual time, which begins on 2000-01-01T00:00:00Z, then stops.
func play(t *testing.T, f *fakeFunction, d time.Duration, o Options, schedules ...Schedule) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(schedules, f, o)
		if err != nil {
			t.Fatal(err)
		}
		eventsourcetest.Run(t, s.Run, func() { eventsourcetest.After(d) })
	})
}

func schedule(expression string) Schedule {
	return Schedule{Name: "S", Function: "F", Expression: expression, Timezone: "UTC", Enabled: true, MaxEventAge: time.Hour}
}

func TestASchedulesInvocations(t *testing.T) {
	disabled := schedule("rate(1 minute)")
	disabled.Enabled = false
	for _, tt := range []struct {
		name     string
		since    string // "" is the beginning
		schedule Schedule
		want     []time.Duration // of the first eleven minutes
	}{
		{"a rate fires first after its period", "", schedule("rate(5 minutes)"), []time.Duration{5 * time.Minute, 10 * time.Minute}},
		{"at fires once", "", schedule("at(2000-01-01T00:10:00)"), []time.Duration{10 * time.Minute}},
		{"at never fires late", "", schedule("at(1999-12-31T23:59:59)"), nil},
		{"what was due since the schedule was created fires at once", "1999-12-31T23:59:30Z", schedule("at(1999-12-31T23:59:59)"), []time.Duration{0}},
		{"what was due before does not", "1999-12-31T23:59:30Z", schedule("at(1999-12-31T23:59:29)"), nil},
		{"what was missed is made up for once", "1999-12-31T22:00:00Z", schedule("rate(7 minutes)"), []time.Duration{0, 6 * time.Minute}},
		{"a disabled schedule does not fire", "", disabled, nil},
	} {
		o, f := Options{}, &fakeFunction{}
		if tt.since != "" {
			o.Since = at(t, tt.since)
		}
		play(t, f, 11*time.Minute, o, tt.schedule)
		if got := times(f); !slices.Equal(got, tt.want) {
			t.Errorf("%s: fired after %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestTheDueTimeIsInThePayloadAndStaysTheSameOverRetries(t *testing.T) {
	f := &fakeFunction{Answer: func(context.Context, call) (string, string, error) { return "", "Unhandled", nil }}
	s := schedule("cron(0 1 * * ? *)")
	s.Input = `{"at":"<aws.scheduler.scheduled-time>"}`
	s.RetryAttempts = 1
	play(t, f, 2*time.Hour, Options{}, s)
	calls := f.Seen()
	if len(calls) != 2 || calls[0].Payload != `{"at":"2000-01-01T01:00:00Z"}` || calls[1].Payload != calls[0].Payload {
		t.Errorf("%+v, want the call and its repetition", calls)
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
		f := &fakeFunction{Answer: func(context.Context, call) (string, string, error) { return "", tt.functionError, tt.err }}
		s := schedule("at(2000-01-01T00:01:00)")
		s.RetryAttempts, s.MaxEventAge = 3, tt.age
		play(t, f, time.Hour, Options{}, s)
		if got := times(f); !slices.Equal(got, tt.want) {
			t.Errorf("%s: invoked after %v, want %v", name, got, tt.want)
		}
	}
}

func TestASlowInvocationDoesNotPutOffTheNextOne(t *testing.T) {
	f := &fakeFunction{Answer: func(context.Context, call) (string, string, error) {
		time.Sleep(150 * time.Second)
		return "", "", nil
	}}
	play(t, f, 190*time.Second, Options{}, schedule("rate(1 minute)"))
	if got := len(f.Seen()); got != 3 {
		t.Errorf("%d invocations in three minutes, want 3", got)
	}
}

func TestStoppingAbandonsAnInvocationAfterTheGracePeriodAndDoesNotRepeatIt(t *testing.T) {
	var waited time.Duration
	f := &fakeFunction{Answer: func(ctx context.Context, _ call) (string, string, error) {
		began := time.Now()
		<-ctx.Done()
		waited = time.Since(began)
		return "", "", ctx.Err()
	}}
	s := schedule("rate(1 minute)")
	s.RetryAttempts = 5
	play(t, f, 61*time.Second, Options{}, s)
	if waited != 11*time.Second || len(f.Seen()) != 1 {
		t.Errorf("%d invocations, the first for %v; want one for 1 s and the grace period of 10 s", len(f.Seen()), waited)
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
