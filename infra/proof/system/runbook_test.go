package system

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// What a step looks at or runs.
const (
	ofTheShell    = iota // a command
	ofTheTerminal        // what the stack says
	ofTheLog             // what the functions say
	ofTheDocument        // one of the runbook's two updates
)

// A step is a command of the runbook, or another place to look at, and the lines that are
// quoted behind it.
type step struct {
	what    int
	command string
	lines   []string
}

// row is an accident of the runbook.
type row struct {
	name          string
	see, do, then []step
}

// withSale puts a sale in the place of the document's.
func withSale(text, saleID string) string { return strings.ReplaceAll(text, "moutai", saleID) }

func (s step) text(saleID string) string {
	switch s.what {
	case ofTheTerminal:
		return "terminal"
	case ofTheLog:
		return "log"
	}
	return withSale(s.command, saleID)
}

// missing is the first of the step's lines that is not there.
func (s step) missing(out, saleID string) string {
	for _, quoted := range s.lines {
		if !pattern(withSale(quoted, saleID)).MatchString(out) {
			return quoted
		}
	}
	return ""
}

// pattern finds a quoted line: … is anything, and columns may be wider.
func pattern(quoted string) *regexp.Regexp {
	text := regexp.QuoteMeta(quoted)
	text = strings.NewReplacer("…", "[^\n]*?", " ", " +").Replace(text)
	if regexp.MustCompile(`\w$`).MatchString(quoted) {
		text += `\b`
	}
	return regexp.MustCompile(text)
}

var (
	span      = regexp.MustCompile("`([^`]+)`")
	update    = regexp.MustCompile(`(?m)^aws dynamodb update-item (?:[^\n]*\\\n)*[^\n]*`)
	ordinals  = []string{"first update", "second update"}
	separator = regexp.MustCompile(`^\|[-|]+\|$`)
)

// runbook reads the accidents of the document.
func runbook(t *testing.T) map[string]row {
	t.Helper()
	text, err := os.ReadFile("../../docs/RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rowsOf(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func rowsOf(document string) (map[string]row, error) {
	_, section, _ := strings.Cut(document, "\n## When something looks wrong\n")
	section, _, _ = strings.Cut(section, "\n## ")
	updates := update.FindAllString(document, -1)
	rows := map[string]row{}
	lines := strings.Split(section, "\n")
	for n, line := range lines {
		if !strings.HasPrefix(line, "| ") || n+1 < len(lines) && separator.MatchString(lines[n+1]) {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) < 4 {
			return nil, fmt.Errorf("%d cells: %s", len(cells), line)
		}
		r := row{name: strings.Trim(cells[0], `"`)}
		r.name, _, _ = strings.Cut(r.name, " (`")
		for cell, steps := range map[int]*[]step{1: &r.see, 2: &r.do, 3: &r.then} {
			*steps = stepsOf(cells[cell], updates)
		}
		if len(r.see) == 0 {
			return nil, fmt.Errorf("nothing is to be seen: %s", line)
		}
		rows[r.name] = r
	}
	return rows, nil
}

// stepsOf reads a cell: commands, "in the terminal", "in the log" and the updates begin a
// step; every other code span behind one is a line of it.
func stepsOf(cell string, updates []string) (steps []step) {
	last := 0
	for _, at := range append(span.FindAllStringSubmatchIndex(cell, -1), []int{len(cell), len(cell), 0, 0}) {
		prose := cell[last:at[0]]
		last = at[1]
		for n, ordinal := range ordinals {
			if strings.Contains(prose, ordinal) && n < len(updates) {
				steps = append(steps, step{what: ofTheDocument, command: updates[n]})
			}
		}
		quoted := cell[at[2]:at[3]]
		switch {
		case quoted == "":
		case strings.HasPrefix(quoted, "flashsale "), strings.HasPrefix(quoted, "make "):
			steps = append(steps, step{command: quoted})
		case strings.HasSuffix(prose, "in the terminal "):
			steps = append(steps, step{what: ofTheTerminal, lines: []string{quoted}})
		case strings.HasSuffix(prose, "in the log "):
			steps = append(steps, step{what: ofTheLog, lines: []string{quoted}})
		case len(steps) > 0 && (strings.HasSuffix(prose, ": ") || strings.HasSuffix(prose, ", ")):
			lines := &steps[len(steps)-1].lines
			*lines = append(*lines, quoted)
		}
	}
	return steps
}
