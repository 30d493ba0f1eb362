// Package clocktest is the clock of an execution environment that Lambda freezes:
// its wall clock goes on or steps, its monotonic clock does not.
//
// It relies on how package time keeps the two readings of a time.
package clocktest

import (
	"sync"
	"time"
	"unsafe"

	"flashsale/shared/clock"
)

// Environment is the clock of one environment. It moves only by its methods, and is
// safe for concurrent use.
type Environment struct {
	began time.Time

	mu     sync.Mutex
	leaped time.Duration // the wall clock alone
}

// New returns a clock that starts at the current time.
func New() *Environment { return &Environment{began: time.Now()} }

// started has a monotonic reading, which time.Now lacks in a synctest bubble.
var started = time.Now()

// Freeze lets time pass while the environment is frozen.
func (e *Environment) Freeze(d time.Duration) { e.leap(d) }

// StepBack corrects the wall clock.
func (e *Environment) StepBack(d time.Duration) { e.leap(-d) }

func (e *Environment) leap(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leaped += d
}

// Now is what time.Now returns in the environment.
func (e *Environment) Now() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Frozen(e.began.Add(e.leaped), e.leaped)
}

// Frozen returns t as time.Now would return it in an environment that was frozen for
// that long in total.
func Frozen(t time.Time, frozen time.Duration) time.Time {
	t = started.Add(t.Round(0).Sub(started.Round(0)))
	// Package time has no call that moves one reading without the other. The test
	// of package clock notices if this layout ever changes.
	(*struct {
		wall      uint64
		monotonic int64
		location  *time.Location
	})(unsafe.Pointer(&t)).monotonic -= int64(frozen)
	return t
}

// Wall is what clock.Wall returns in the environment.
func (e *Environment) Wall() time.Time { return clock.Strip(e.Now()) }
