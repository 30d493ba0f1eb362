// Package wait lets a test wait for what other processes or goroutines do.
package wait

import (
	"testing"
	"time"
)

// Until asks until the answer is yes, ever more rarely: 5 ms apart at first, half a second in
// the end. It fails the test if the answer is still no after the limit.
func Until(t testing.TB, limit time.Duration, what string, is func() bool) {
	t.Helper()
	pause := 5 * time.Millisecond
	for end := time.Now().Add(limit); !is(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("still not so after %v: %s", limit, what)
		}
		pause = min(pause*5/4, 500*time.Millisecond)
	}
}
