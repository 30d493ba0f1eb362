// Package clock is the clock by which an execution environment measures the age of what
// it has cached.
//
// Lambda freezes an environment between invocations. Go's monotonic clock stands still
// meanwhile, the wall clock does not, and package time compares the monotonic readings
// of two times wherever both have one. By them a snapshot that was read before a freeze
// of 20 minutes would still be fresh after it (P5, P6, P14). So the times of this clock
// have no monotonic reading. Durations within one invocation are measured by package
// invocation.
package clock

import "time"

// Wall returns the current time in UTC without a monotonic reading. The main.go of a
// function passes it to everything that needs the time. A wall clock may step back: a
// negative age must count as too old.
func Wall() time.Time { return time.Now().Round(0).UTC() }
