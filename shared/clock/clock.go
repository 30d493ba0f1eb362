// Package clock is the clock by which an execution environment ages what it
// remembers.
//
// Lambda freezes an environment between invocations. Go's monotonic clock stands
// still meanwhile, the wall clock does not, and package time compares the monotonic
// readings of two times wherever both have one. By them a snapshot that was read
// before a freeze of 20 minutes would still be fresh after it (P5, P6, P14). So the
// times of this clock have no such reading. What is measured within one invocation
// belongs to package invocation.
package clock

import "time"

// Wall is the current instant in UTC, by the wall clock alone. The main.go of a
// function hands it to everything that asks for the time. A wall clock may step
// back: an age that comes out negative must count as too old.
func Wall() time.Time { return Strip(time.Now()) }

// Strip takes off an instant what time.Now adds to the wall clock's reading.
func Strip(t time.Time) time.Time { return t.Round(0).UTC() }
