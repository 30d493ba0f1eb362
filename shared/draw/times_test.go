package draw

import (
	"testing"
	"time"
)

func TestTheTimesAreThoseOfTheEnvironment(t *testing.T) {
	got, err := TimesFromEnv()
	if want := (Times{15 * time.Minute, time.Hour, time.Minute}); err != nil || got != want || got.Lead() != 76*time.Minute {
		t.Errorf("without any: %v, lead %v (%v), want %v", got, got.Lead(), err, want)
	}
	t.Setenv("DRAW_SETTLE_SECONDS", "4")
	t.Setenv("DRAW_DICE_SECONDS", "86400")
	t.Setenv("DRAW_GAP_SECONDS", "1")
	got, err = TimesFromEnv()
	if want := (Times{4 * time.Second, 24 * time.Hour, time.Second}); err != nil || got != want {
		t.Errorf("got %v (%v), want %v", got, err, want)
	}
}

func TestTimesThatMakeNoSenseAreRefused(t *testing.T) {
	for _, name := range []string{"DRAW_SETTLE_SECONDS", "DRAW_DICE_SECONDS", "DRAW_GAP_SECONDS"} {
		for _, text := range []string{"0", "-1", "86401", "1.5", "1m", " 1"} {
			t.Run(name+"="+text, func(t *testing.T) {
				t.Setenv(name, text)
				if got, err := TimesFromEnv(); err == nil {
					t.Errorf("got %v", got)
				}
			})
		}
	}
}
