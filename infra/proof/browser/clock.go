package browser

import (
	_ "embed"
	"fmt"
	"time"
)

//go:embed clock.js
var clockScript string

// Clock gives the pages that are opened afterwards a clock which is wrong by a duration,
// and which Advance moves.
func (t *Tab) Clock(wrong time.Duration) {
	t.tb.Helper()
	t.Before(fmt.Sprintf("(%s)(%d)", clockScript, wrong.Milliseconds()))
}

// Advance moves the page's clock forward; timers that are due on the way run in order. What
// they wait for, such as an answer, takes real time and may come later.
func (t *Tab) Advance(by time.Duration) {
	t.tb.Helper()
	Eval[bool](t, fmt.Sprintf("(clock.advance(%d), true)", by.Milliseconds()))
}

// Sleep moves the page's date forward while its performance.now() stands still, as some
// computers do when they sleep, and makes the page visible again.
func (t *Tab) Sleep(by time.Duration) {
	t.tb.Helper()
	Eval[bool](t, fmt.Sprintf("(clock.sleep(%d), document.dispatchEvent(new Event('visibilitychange')))", by.Milliseconds()))
}
