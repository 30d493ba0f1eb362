// Package page draws one run of the lab as an HTML file that needs no other.
//
// It measures nothing and adds no figure that is not in a row.
package page

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"flashsale/infra/lab/scenario"
	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/tally"
	"flashsale/infra/lab/trial"
)

//go:embed page.html
var text string

var page = template.Must(template.New("lab").Funcs(template.FuncMap{
	"class": class,
	"count": func(v float64) string { return fmt.Sprintf("%.0f", v) },
}).Parse(text))

type Report struct {
	Rows []trial.Row
	// Strategies and Scenarios are what was run, in the order of the page.
	Strategies []shop.Spec
	Scenarios  []scenario.Scenario
	// Made is when the run ended, Took how long it was.
	Made time.Time
	Took time.Duration
	// Machine says in a few words what it ran on.
	Machine string
}

// Write writes the file, and its folder if there is none.
func Write(path string, r Report) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	var text bytes.Buffer
	if err := cmp.Or(r.html(&text), os.WriteFile(path, text.Bytes(), 0o644)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func (r *Report) html(w io.Writer) error {
	unexpected, missing := 0, map[string]bool{}
	for _, row := range r.Rows {
		if !row.Expected {
			unexpected++
		}
		if row.Verdict == tally.NotRun {
			missing[row.Why] = true
		}
	}
	firstSeed := uint64(0)
	if len(r.Rows) > 0 {
		firstSeed = r.Rows[0].Seed
	}
	return page.Execute(w, map[string]any{
		"FirstSeed": firstSeed,
		"Made":      r.Made.UTC().Format("2 January 2006, 15:04 UTC"), "Took": r.Took.Round(time.Second).String(), "Machine": r.Machine,
		"Rows": len(r.Rows), "Unexpected": unexpected, "Missing": missing,
		"Scenarios": r.Scenarios, "Lines": r.lines(),
		"Verdicts": severity[:len(severity)-1],
	})
}

// severity are the verdicts, worst first.
var severity = []tally.Verdict{
	tally.Oversells, tally.Doubles, tally.Loses, tally.Misleads, tally.Undersells, tally.Stalls, tally.Holds, tally.NotRun,
}

// class is a verdict's name in the style sheet.
func class(v tally.Verdict) string { return strings.ReplaceAll(string(v), " ", "-") }

// line is a strategy with its cells, one per scenario.
type line struct {
	Spec shop.Spec
	// Begins: it is the first of its family.
	Begins bool
	Cells  []cell
	Rows   []trial.Row
}

// cell is a strategy in a scenario, over all seeds of the run.
type cell struct {
	Anchor string
	// Verdict is the worst; "" if the strategy cannot meet the scenario.
	Verdict tally.Verdict
	// Says is the verdict with its figure, or how often it was found.
	Says       string
	Unexpected bool
}

func (r *Report) lines() []line {
	var all []line
	family := ""
	for _, spec := range r.Strategies {
		l := line{Spec: spec, Begins: spec.Family != family}
		family = spec.Family
		for _, sc := range r.Scenarios {
			var rows []trial.Row
			for _, row := range r.Rows {
				if row.Strategy == spec.Name && row.Scenario == sc.Name {
					rows = append(rows, row)
				}
			}
			l.Cells = append(l.Cells, cellOf(spec.Name+"-in-"+sc.Name, rows))
			l.Rows = append(l.Rows, rows...)
		}
		all = append(all, l)
	}
	return all
}

func cellOf(anchor string, rows []trial.Row) cell {
	c := cell{Anchor: anchor}
	var worst trial.Row
	alike := 0
	for _, v := range severity {
		for _, row := range rows {
			c.Unexpected = c.Unexpected || !row.Expected
			if row.Verdict != v || alike > 0 && worst.Verdict != v {
				continue
			}
			worst = row
			alike++
		}
	}
	if alike == 0 {
		return c
	}
	c.Verdict, c.Says = worst.Verdict, string(worst.Verdict)
	if f := figure(worst); f != "" && len(rows) == 1 {
		c.Says += " " + f
	}
	if len(rows) > 1 {
		c.Says += fmt.Sprintf(" %d/%d", alike, len(rows))
	}
	return c
}

func figure(r trial.Row) string {
	switch r.Verdict {
	case tally.Oversells:
		return fmt.Sprintf("+%d", r.Oversold)
	case tally.Doubles:
		return fmt.Sprintf("%d", r.Doubles)
	case tally.Loses:
		return fmt.Sprintf("%d", r.Lost)
	case tally.Misleads:
		return fmt.Sprintf("%d", r.Misled)
	case tally.Undersells:
		return fmt.Sprintf("−%d", r.Unsold)
	}
	return ""
}
