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

// Report is one run.
type Report struct {
	// Rows are what was measured.
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
