package mutants

import (
	"bytes"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutantsText has the named mutants, which break each promise in a way that no operator and no term of
// the ledger's conditions breaks it. Each is its promise and its name; the file that it changes and the
// test that must notice it, "package pattern" in the syntax of go test -run; and as in a diff the text
// that is replaced, which stands once in the file, and by what.
//
//go:embed mutants.txt
var mutantsText string

// named reads the named mutants.
func named(t *testing.T, root string) (all []change) {
	for block := range strings.SplitSeq(strings.TrimSpace(mutantsText), "\n\n") {
		lines := strings.Split(block, "\n")
		fields := strings.SplitN(lines[1], " ", 3)
		s, err := parse(filepath.Join(root, fields[0]))
		if err != nil {
			t.Fatal(err)
		}
		var old, other []string
		for _, line := range lines[2:] {
			if text, isNew := strings.CutPrefix(line, "+"); isNew {
				other = append(other, text)
			} else {
				old = append(old, line[1:])
			}
		}
		c := change{name: lines[0], pkg: "./" + fields[1], test: fields[2], source: s, old: strings.Join(old, "\n"), new: strings.Join(other, "\n")}
		if c.at = bytes.Index(s.text, []byte(c.old)); bytes.Count(s.text, []byte(c.old)) != 1 {
			t.Errorf("%s: the text does not stand once in %s:\n%s", c.name, fields[0], c.old)
		}
		all = append(all, c)
	}
	return all
}

// reasonsIn reads a list of changes that no test can detect, each with the reason on a line that is indented.
func reasonsIn(list string) map[string]string {
	reasons, name := map[string]string{}, ""
	for line := range strings.Lines(list) {
		if reason, indented := strings.CutPrefix(line, "\t"); indented {
			reasons[name] = strings.TrimSpace(reason)
		} else {
			name = strings.TrimSpace(line)
		}
	}
	return reasons
}

func TestEveryMutantIsCaught(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	all, tests := named(t, root), map[string][]string{}
	if t.Failed() {
		return
	}
	builds := newBuilds(t, root, all)
	for number, c := range all {
		if !slices.Contains(tests[c.pkg], c.test) {
			tests[c.pkg] = append(tests[c.pkg], c.test)
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			binary, err := builds.binary(number)
			if err != nil {
				t.Fatal(err)
			}
			out, err := builds.run(t, binary, c.pkg, number, c.test, limit)
			switch {
			case err == nil && bytes.Contains(out, []byte("no tests to run")):
				t.Errorf("no test matches %s", c.test)
			case err == nil:
				t.Errorf("%s of %s did not notice", c.test, c.pkg)
			}
		})
	}
	for n := 1; n <= 39; n++ {
		if promise := fmt.Sprint("P", n, " "); !slices.ContainsFunc(all, func(c change) bool { return strings.HasPrefix(c.name, promise) }) {
			t.Errorf("no mutant breaks %s", promise)
		}
	}
	// The same programs without a mutant: a test that fails here proves nothing.
	for pkg, patterns := range tests {
		t.Run("unchanged "+pkg, func(t *testing.T) {
			t.Parallel()
			if out, err := builds.run(t, builds.common[pkg], pkg, unchanged, strings.Join(patterns, "|"), limit); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
