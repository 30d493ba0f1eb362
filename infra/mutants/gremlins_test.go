package mutants

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var gremlins = flag.String("gremlins", "", "the program gremlins; if given, it changes each package before our own runner does")

// leastEfficacy is the minimum share, in percent, of gremlins' changes that the tests
// must detect.
const leastEfficacy = 95

// mutator is gremlins' name for a change of one operator into another.
func mutator(was, is token.Token) string {
	switch was {
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		return "ARITHMETIC_BASE"
	case token.INC, token.DEC:
		return "INCREMENT_DECREMENT"
	case token.LAND, token.LOR:
		return "INVERT_LOGICAL"
	}
	if was.String()+"=" == is.String() || was.String() == is.String()+"=" {
		return "CONDITIONALS_BOUNDARY"
	}
	return "CONDITIONALS_NEGATION"
}

// gremlinsReport is what gremlins writes about one package.
type gremlinsReport struct {
	Efficacy float64 `json:"test_efficacy"`
	Coverage float64 `json:"mutations_coverage"`
	Killed   int     `json:"mutants_killed"`
	Files    []struct {
		Name      string `json:"file_name"`
		Mutations []struct {
			Type, Status string
			Line, Column int
		}
	}
}

// lived returns the places of the changes that no test detected, in change.place's
// form, and how many changes timed out.
func (r gremlinsReport) lived() (places []string, late int) {
	for _, file := range r.Files {
		for _, m := range file.Mutations {
			switch m.Status {
			case "LIVED":
				kind := strings.Replace(m.Type, "INVERT_NEGATIVES", "ARITHMETIC_BASE", 1)
				places = append(places, fmt.Sprintf("%s:%d:%d %s", file.Name, m.Line, m.Column, kind))
			case "TIMED OUT":
				late++
			}
		}
	}
	return places, late
}

// askGremlins lets gremlins change a package. Changes that no test detects must be
// listed in survivors, and only a few may be listed. gremlins considers the conditions
// of `case` and all constants uncovered, because no block of a cover profile contains
// them, and does not change them: our own runner changes those, too.
func askGremlins(t *testing.T, tree, pkg string, all []*change) {
	report := filepath.Join(t.TempDir(), "report.json")
	// Packages below this one have other tests. gremlins measures the tests first, and
	// allows ten times as long for each change.
	command := exec.CommandContext(t.Context(), "sh", "-c", limited, *gremlins, "unleash", "./"+pkg,
		"--workers", "2", "--timeout-coefficient", "10", "--exclude-files", "/", "--output", report)
	command.Dir = tree
	command.Env = append(os.Environ(), "GOFLAGS=-count=1 -failfast -vet=off -skip="+slowTests)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("gremlins: %v\n%s", err, out)
	}
	raw, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("gremlins wrote no report: %v\n%s", err, out)
	}
	var r gremlinsReport
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{} // by place
	for _, c := range all {
		names[c.place] = c.name
	}
	lived, late := r.lived()
	for _, place := range lived {
		if name := names[place]; name == "" {
			t.Errorf("%s: no change of ours", place)
		} else if survivors[name] == "" {
			t.Errorf("no test of %s notices: %s", pkg, name)
		}
	}
	t.Logf("gremlins: efficacy %.1f %%, coverage %.1f %%: %d noticed, %d survive, %d ran out of time",
		r.Efficacy, r.Coverage, r.Killed, len(lived), late)
	if r.Killed+len(lived) == 0 {
		t.Errorf("gremlins changed nothing:\n%s", out)
	} else if r.Efficacy < leastEfficacy {
		t.Errorf("efficacy %.1f %%, want %d %%", r.Efficacy, leastEfficacy)
	}
}

// sourceTree is a copy of what the tests of functions and shared need. gremlins copies
// the whole module for each of its workers, including build output.
func sourceTree(t *testing.T, root string) string {
	tree := t.TempDir()
	for _, name := range []string{"functions", "shared", "events"} {
		if err := os.CopyFS(filepath.Join(tree, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func TestASurvivorOfGremlinsIsOneOfOurOwnChanges(t *testing.T) {
	const source = "package p\n\nfunc f(a, b int) bool { return a < b && -a >= b }\n"
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "p.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := operatorChanges(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	var r gremlinsReport
	if err := json.Unmarshal([]byte(`{"files": [{"file_name": "p.go", "mutations": [
		{"type": "CONDITIONALS_BOUNDARY", "status": "LIVED", "line": 3, "column": 34},
		{"type": "CONDITIONALS_NEGATION", "status": "KILLED", "line": 3, "column": 34},
		{"type": "INVERT_NEGATIVES", "status": "LIVED", "line": 3, "column": 41},
		{"type": "CONDITIONALS_NEGATION", "status": "LIVED", "line": 3, "column": 44},
		{"type": "CONDITIONALS_BOUNDARY", "status": "TIMED OUT", "line": 3, "column": 44}]}]}`), &r); err != nil {
		t.Fatal(err)
	}
	places, late := r.lived()
	got := ""
	for _, place := range places {
		for _, c := range all {
			if c.place == place {
				got += c.name[strings.LastIndex(c.name, ": ")+2:] + "; "
			}
		}
	}
	if want := "<= for <; + for -; < for >=; "; got != want || late != 1 {
		t.Errorf("got %q and %d that ran out of time, want %q and 1", got, late, want)
	}
}
