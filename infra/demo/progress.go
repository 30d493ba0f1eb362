package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// lineEvery is how often progress is told where no bar can be drawn.
const lineEvery = 2 * time.Second

// progress shows how far one step after another has come: as a bar on a
// terminal, else as a line now and then.
type progress struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
}

func newProgress(w io.Writer, terminal bool, now func() time.Time) progress {
	return progress{w: w, terminal: terminal, now: now}
}

// step begins a step of that many parts and returns what to call after each,
// from any goroutine, and at the end.
func (p progress) step(what string, parts int) (one, end func()) {
	if p.terminal {
		bar := progressbar.NewOptions(parts,
			progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(fmt.Sprintf("%-9s", what)),
			progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionSetPredictTime(false),
			progressbar.OptionThrottle(50*time.Millisecond), progressbar.OptionClearOnFinish())
		// A terminal that cannot be drawn on must not stop the demonstration.
		return func() { _ = bar.Add(1) }, func() { _ = bar.Clear() }
	}
	var mu sync.Mutex
	done, last := 0, p.now()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		if now := p.now(); now.Sub(last) >= lineEvery && done < parts {
			last = now
			fmt.Fprintf(p.w, "%s: %s of %s\n", what, thousands(done), thousands(parts))
		}
	}, func() {}
}
