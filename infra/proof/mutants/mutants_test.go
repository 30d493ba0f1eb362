package mutants

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutant is one way to break the system: the single occurrence of old in a file is
// replaced, and a test must notice it: "package pattern", in the syntax of go test -run.
type mutant struct {
	promise, name, file, test string
	old, new                  string
}

func TestEveryMutantIsCaught(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	all := make([]change, len(mutants))
	tests := map[string][]string{}
	for i, m := range mutants {
		s, err := parse(filepath.Join(root, m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(s.text, []byte(m.old)); n != 1 {
			t.Errorf("%s: the text stands %d times in %s, want once:\n%s", m.name, n, m.file, m.old)
		}
		pkg, test, _ := strings.Cut(m.test, " ")
		all[i] = change{m.promise + " " + m.name, "./" + pkg, s, bytes.Index(s.text, []byte(m.old)), m.old, m.new}
		if !slices.Contains(tests[all[i].pkg], test) {
			tests[all[i].pkg] = append(tests[all[i].pkg], test)
		}
	}
	if t.Failed() {
		return
	}
	builds := newBuilds(t, root, all)
	for number, c := range all {
		_, test, _ := strings.Cut(mutants[number].test, " ")
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			binary, err := builds.binary(number)
			if err != nil {
				t.Fatal(err)
			}
			out, err := builds.run(t, binary, c.pkg, number, stage{test, slowTests, limit})
			switch {
			case err == nil && bytes.Contains(out, []byte("no tests to run")):
				t.Errorf("no test matches %s", test)
			case err == nil:
				t.Errorf("%s of %s did not notice", test, c.pkg)
			}
		})
	}
	for n := 1; n <= 36; n++ {
		if promise := fmt.Sprint("P", n); !slices.ContainsFunc(mutants, func(m mutant) bool { return m.promise == promise }) {
			t.Errorf("no mutant breaks %s", promise)
		}
	}
	// The same programs without a mutant: a test that fails here proves nothing.
	for pkg, patterns := range tests {
		t.Run("unchanged "+pkg, func(t *testing.T) {
			t.Parallel()
			if out, err := builds.run(t, builds.common[pkg], pkg, unchanged, stage{strings.Join(patterns, "|"), slowTests, limit}); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
