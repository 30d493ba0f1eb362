package checks

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines bounds every Go file.
const maxLines = 800

// topLevel is all that may be at the repository's root, except dot files.
var topLevel = []string{
	"functions", "shared", "infra", "events", "template.yaml", "go.mod", "go.sum", "Makefile", "README.md", "LICENSE",
	"samconfig.toml", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
}

func TestTopLevelHoldsOnlyWhatTheDesignNames(t *testing.T) {
	entries, err := os.ReadDir(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(topLevel, e.Name()) {
			t.Errorf("%s: does not belong at the top level", e.Name())
		}
	}
}

func TestEveryFunctionWiresInMainAndAnswersInHandler(t *testing.T) {
	all := files(t)
	for name := range functionFolders(t) {
		folder := "functions/" + name
		if !slices.Contains(all, folder+"/main.go") {
			t.Errorf("%s/main.go is missing", folder)
		}
		if !slices.ContainsFunc(all, func(file string) bool { return under(file, folder) && path.Base(file) == "handler.go" }) {
			t.Errorf("%s has no handler.go", folder)
		}
	}
}

func TestGoFilesKeepTheHouseRules(t *testing.T) {
	checkCode(t, []codeRule{
		{
			name:   "every package says what it is",
			check:  undocumented,
			breaks: []broken{{"shared/x/x.go", "package x\n"}, {"shared/x/x.go", "// A stray remark.\n\npackage x\n"}},
		},
		{
			name: fmt.Sprintf("no file is longer than %d lines", maxLines),
			check: func(all []*source) (found []finding) {
				for _, s := range all {
					if s.lines() > maxLines {
						found = append(found, finding{s.path, s.lines(), "the file is too long"})
					}
				}
				return found
			},
			breaks: []broken{{"shared/x/x_test.go", "package x\n" + strings.Repeat("\n", maxLines)}},
		},
		{
			name: "no test is skipped",
			check: func(all []*source) (found []finding) {
				for _, s := range all {
					ast.Inspect(s.ast, func(n ast.Node) bool {
						if call, ok := n.(*ast.CallExpr); ok && isSkip(call) {
							found = append(found, s.find(n.Pos(), "skips a test"))
						}
						return true
					})
				}
				return found
			},
			breaks: []broken{
				{"shared/x/x_test.go", "package x\nfunc TestX(t *testing.T) { t.Skip(\"later\") }\n"},
				{"shared/x/x_test.go", "package x\nfunc BenchmarkX(b *testing.B) { b.SkipNow() }\n"},
			},
		},
	})
}

func undocumented(all []*source) (found []finding) {
	documented := map[string]bool{}
	for _, s := range all {
		if !s.isTest() && s.ast.Doc != nil {
			documented[s.dir()] = true
		}
	}
	for _, s := range all {
		if !s.isTest() && !documented[s.dir()] {
			documented[s.dir()] = true // one finding per package
			found = append(found, s.find(s.ast.Package, "package %s has no package comment", s.ast.Name.Name))
		}
	}
	return found
}

// isSkip reports whether a call skips a test.
func isSkip(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	holder, ok := sel.X.(*ast.Ident)
	return ok && slices.Contains([]string{"t", "b", "f", "tb"}, holder.Name) &&
		slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name)
}

// reminder matches notes of unfinished work. It is concatenated so that this file does
// not contain one itself.
var reminder = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`)

func TestNothingIsLeftForLater(t *testing.T) {
	text := regexp.MustCompile(`(\.(go|md|ya?ml|json|toml|sh)|Makefile)$`)
	for _, name := range files(t) {
		if !text.MatchString(name) {
			continue
		}
		for i, line := range strings.Split(read(t, name), "\n") {
			if reminder.MatchString(line) {
				t.Errorf("%s:%d: is a note of unfinished work", name, i+1)
			}
		}
	}
	if !reminder.MatchString("// TO" + "DO: later") {
		t.Error("the rule does not notice a reminder")
	}
}
