package draw

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Times are those that a draw needs between its steps. All functions of a stack have the same.
type Times struct {
	// Settle is the time from the end of entering to the reading of the roll. In it everybody
	// whose entry may still be on its way is told to ask again.
	Settle time.Duration
	// Dice is the least time from the closing of the roll to the round that decides. In it
	// entrants read the roll, which nobody can exchange unseen afterwards.
	Dice time.Duration
	// Gap is the time from the end of a call to the next one, so that clocks that differ cannot
	// make them overlap.
	Gap time.Duration
}

// Lead is the least time from the end of entering to the first call.
func (t Times) Lead() time.Duration { return t.Settle + t.Dice + t.Gap }

// TimesFromEnv reads DRAW_SETTLE_SECONDS, DRAW_DICE_SECONDS and DRAW_GAP_SECONDS, whose defaults
// are 15 minutes, an hour and a minute. It fails for invalid values (P19).
func TimesFromEnv() (Times, error) {
	t := Times{Settle: 15 * time.Minute, Dice: time.Hour, Gap: time.Minute}
	for name, to := range map[string]*time.Duration{"DRAW_SETTLE_SECONDS": &t.Settle, "DRAW_DICE_SECONDS": &t.Dice, "DRAW_GAP_SECONDS": &t.Gap} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxSeconds {
			return Times{}, fmt.Errorf("%s is %q, want 1 to %d", name, text, maxSeconds)
		}
		*to = time.Duration(n) * time.Second
	}
	return t, nil
}

// maxSeconds bounds each of the times: a day.
const maxSeconds = 24 * 60 * 60
