package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress draws bars on a terminal. Without a terminal w is nil and it draws nothing.
type progress struct{ w io.Writer }

type step struct {
	one, end func()
}

// step begins a step of parts parts; one may be called from any goroutine.
func (p progress) step(what string, parts int) step {
	if p.w == nil {
		return step{func() {}, func() {}}
	}
	bar := progressbar.NewOptions(parts,
		progressbar.OptionSetWriter(p.w), progressbar.OptionSetDescription(fmt.Sprintf("%-9s", what)),
		progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionSetPredictTime(false),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
	// A terminal error must not stop a run.
	return step{func() { _ = bar.Add(1) }, func() { _ = bar.Clear() }}
}
