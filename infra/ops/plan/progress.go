package main

import (
	"fmt"
	"io"
	"strings"

	"flashsale/infra/ops/model"
)

// progress is a line that is redrawn during the simulated sale.
type progress struct {
	out     io.Writer
	wish    wish
	percent int
}

func newProgress(out io.Writer, w wish) *progress {
	return &progress{out: out, wish: w, percent: -1}
}

// show draws the line when it has changed. Errors are ignored.
func (p *progress) show(now model.Progress) {
	sold := 100 * now.Sold / p.wish.stock
	percent := 100 * now.Came / p.wish.users
	if percent+int(sold) == p.percent {
		return
	}
	p.percent = percent + int(sold)
	bar := strings.Repeat("#", percent/4) + strings.Repeat(".", 25-percent/4)
	_, _ = fmt.Fprintf(p.out, "\r[%s] %3d %% of the users arrived, %3d %% of the units sold, %5.1f s into the sale", bar, percent, sold, now.Elapsed.Seconds())
}

func (p *progress) end() { _, _ = fmt.Fprintln(p.out) }
