package draw

import (
	"errors"
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
	settle, noSettle := seconds("DRAW_SETTLE_SECONDS", os.Getenv("DRAW_SETTLE_SECONDS"), 15*time.Minute)
	dice, noDice := seconds("DRAW_DICE_SECONDS", os.Getenv("DRAW_DICE_SECONDS"), time.Hour)
	gap, noGap := seconds("DRAW_GAP_SECONDS", os.Getenv("DRAW_GAP_SECONDS"), time.Minute)
	return Times{Settle: settle, Dice: dice, Gap: gap}, errors.Join(noSettle, noDice, noGap)
}

// maxSeconds bounds each of the times: a day.
const maxSeconds = 24 * 60 * 60

// seconds reads a variable, whose text is empty for its default.
func seconds(name, text string, otherwise time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSeconds {
		return 0, fmt.Errorf("%s is %q, want 1 to %d", name, text, maxSeconds)
	}
	return time.Duration(n) * time.Second, nil
}
