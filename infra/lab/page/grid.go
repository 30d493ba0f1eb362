package page

import (
	"fmt"
	"strings"

	"flashsale/infra/lab/shop"
	"flashsale/infra/lab/tally"
	"flashsale/infra/lab/trial"
)

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

// figure is how bad it was.
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
