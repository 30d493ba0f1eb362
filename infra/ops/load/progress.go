package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// lineEvery is how often progress is printed without a terminal.
const lineEvery = 2 * time.Second

// progress shows the progress of each step: as a bar on a terminal, else as a line every
// lineEvery, even without progress.
type progress struct {
	w        io.Writer
	terminal bool
}

// step begins a step of parts parts (0: unknown). Call one after each part, from any
// goroutine, and end at the end.
func (p progress) step(what string, parts int) (one, end func()) {
	var done atomic.Int64
	begin, newline, every := "", "\n", lineEvery
	finish := func() {}
	if p.terminal {
		begin, newline, every = "\r", "", 100*time.Millisecond
		finish = func() { fmt.Fprint(p.w, "\r\033[K") } // an empty line
	}
	began := time.Now()
	draw := func() {
		how := fmt.Sprintf("%.0f s", time.Since(began).Seconds())
		if parts > 0 {
			how = thousands(int(done.Load())) + " of " + thousands(parts)
		}
		fmt.Fprint(p.w, begin, what, ": ", how, newline)
	}
	if p.terminal && parts > 0 {
		bar := progressbar.NewOptions(parts,
			progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(), progressbar.OptionSetWidth(30),
			progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish())
		// A terminal error must not stop the demonstration.
		draw, finish = func() { _ = bar.Set64(done.Load()) }, func() { _ = bar.Clear() }
	}
	if p.terminal {
		draw()
	}
	stop := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				draw()
			case <-stop:
				return
			}
		}
	})
	return func() { done.Add(1) }, func() {
		close(stop)
		drawing.Wait()
		finish()
	}
}
