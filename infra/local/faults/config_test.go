package faults_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/local/faults"
)

func TestParseReadsEverySettingAndWhatStringWrites(t *testing.T) {
	for text, want := range map[string]faults.Config{
		"":                  {},
		"seed=0,conflict=0": {},
		"conflict=0.01,throttle=0.02,error=0.03,lost=0.04,late=0.05,lateby=6s,latency=7ms," +
			"send=0.09,publish=0.15,duplicate=0.1,delay=0.11,delayby=12s,reorder=0.13,seed=14": {
			Conflict: 0.01, Throttle: 0.02, Error: 0.03, Lost: 0.04, Late: 0.05, LateBy: 6 * time.Second,
			Latency: 7 * time.Millisecond, Send: 0.09, Publish: 0.15, Duplicate: 0.1,
			Delay: 0.11, DelayBy: 12 * time.Second, Reorder: 0.13, Seed: 14,
		},
		"late=0.1":              {Late: 0.1, LateBy: time.Second},
		"conflict=0.6,lost=0.4": {Conflict: 0.6, Lost: 0.4},
		"mild,conflict=0,throttle=0,error=0,lost=0,late=0,lateby=0s,latency=0s": {
			Send: 0.01, Publish: 0.01, Duplicate: 0.02, Delay: 0.02, DelayBy: time.Second, Reorder: 0.05,
		},
	} {
		got, err := faults.Parse(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
		if again, err := faults.Parse(got.String()); err != nil || again != got {
			t.Errorf("%q is written as %q, and read as %+v, %v", text, got, again, err)
		}
	}
}

func TestParseRefusesWhatIsNotExactlySettings(t *testing.T) {
	for _, text := range []string{
		"nonsense", "conflict", "conflict=", "conflict=1.1", "conflict=-0.1", "conflict=NaN", "conflict=Inf", "conflict=10%",
		"conflict=0.1,", ",conflict=0.1", "conflict=0.1,,lost=0.1", "conflict=0.1,conflict=0.2", " conflict=0.1", "Conflict=0.1",
		"conflict=0.1,harsh", "harsh,mild", "HARSH", "latency=5", "latency=-5ms", "latency=2m", "late=0.1,lateby=1h",
		"seed=-1", "seed=18446744073709551616", "conflict=0.6,throttle=0.5", "harsh,lost=0.9", "rate=0.1",
	} {
		if c, err := faults.Parse(text); err == nil {
			t.Errorf("%q was read as %q", text, c)
		}
	}
}
