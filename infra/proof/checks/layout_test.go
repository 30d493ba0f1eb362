package checks

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxLines bounds every Go file.
const maxLines = 800

// topLevel is all that may be at the repository's root, except dot files.
var topLevel = []string{
	"functions", "shared", "infra", "events", "findings", "template.yaml", "go.mod", "go.sum", "Makefile", "README.md", "LICENSE",
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

func TestEveryFunctionAnswersInHandler(t *testing.T) {
	all := files(t)
	for name := range functionFolders(t) {
		folder := "functions/" + name
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

// clockReaders are the functions of package time that read a clock, or start something
// that may outlive its invocation and run in a frozen environment. A timer or
// time.After in a select belongs to its invocation.
var clockReaders = []string{"Now", "Since", "Until", "AfterFunc", "NewTicker", "Tick"}

// clockPackages may read a clock: one for state that outlives an invocation, one for
// durations within one.
var clockPackages = []string{"shared/clock", "shared/invocation"}

func TestAnEnvironmentAgesByOneWallClock(t *testing.T) {
	checkCode(t, []codeRule{
		{
			name:  "what is deployed is told the time",
			check: clocksRead,
			breaks: []broken{
				{"shared/sale/x.go", "package sale\nimport \"time\"\nvar now = time.Now\n"},
				{"shared/orderid/x.go", "package orderid\nimport \"time\"\nfunc f() { _ = time.Since(epoch) }\n"},
				{"shared/ledger/x.go", "package ledger\nimport \"time\"\nfunc f(o Options) { if o.Now == nil { o.Now = time.Now } }\n"},
				{"shared/ledger/x.go", "package ledger\nimport clock \"time\"\nfunc f() bool { return clock.Until(t) > 0 }\n"},
				{"shared/telemetry/x.go", "package telemetry\nimport . \"time\"\nvar t = Now()\n"},
				{"shared/clocks/x.go", "package clocks\nimport \"time\"\nvar t = time.Now()\n"},
				{"shared/clock/sundial/x.go", "package sundial\nimport \"time\"\nvar t = time.Now()\n"},
				{"functions/seed/main.go", "package main\nimport \"time\"\nfunc main() { start(time.Now) }\n"},
				{"functions/query/handler/x.go", "package handler\nimport (\n\"context\"\n\"time\"\n)\nfunc f() { time.AfterFunc(1, g) }\n"},
				{"functions/query/handler/x.go", "package handler\nimport \"time\"\nvar every = time.NewTicker(time.Second)\n"},
			},
		},
		{
			name: "the wall clock is handed out by main.go, and by the ledger where it is given none",
			check: edges(func(s *source) bool {
				return codeIn("shared", "functions")(s) && !isTestSupport(s.dir()) && s.path != "shared/ledger/ledger.go" &&
					!(under(s.dir(), "functions") && s.dir() == functionOf(s))
			}, "take the time as an argument", func(_ *source, imported string) bool { return imported != module+"/shared/clock" }),
			breaks: []broken{
				imports("shared/eligibility/x.go", module+"/shared/clock"),
				imports("functions/query/handler/x.go", module+"/shared/clock"),
				imports("shared/ledger/snapshot.go", module+"/shared/clock"),
			},
		},
	})
}

// clocksRead finds every use of a clock reader, called or not.
func clocksRead(all []*source) (found []finding) {
	for _, s := range all {
		if !codeIn("shared", "functions")(s) || isTestSupport(s.dir()) || slices.Contains(clockPackages, s.dir()) {
			continue
		}
		var names []string // names of package time in this file
		for _, spec := range s.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			switch {
			case err != nil || imported != "time":
			case spec.Name == nil:
				names = append(names, "time")
			case spec.Name.Name == ".":
				found = append(found, s.find(spec.Pos(), "imports time without its name: a call that reads the clock would not show"))
			default:
				names = append(names, spec.Name.Name)
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains(clockReaders, sel.Sel.Name) {
				return true
			}
			if slices.ContainsFunc(names, func(name string) bool { return isName(sel.X, name) }) {
				found = append(found, s.find(sel.Pos(), "uses time.%s: take the time as an argument, or measure it with package invocation", sel.Sel.Name))
			}
			return true
		})
	}
	return found
}

// maxMain bounds a function's main.go in lines: it wires and does nothing else.
const maxMain = 45

// ledgerWords are the prefixes of the table's keys and the words of its expressions. No
// other package may contain them.
var ledgerWords = []string{
	"SALE#", "CLAIM#", "STOCK#", "ORDER#", "SEQ#", "SEED#", "WITHDRAWN#",
	"attribute_not_exists", "attribute_exists", "if_not_exists", "begins_with(", "SET #", "ADD #", ":one",
}

func TestCodeKeepsToItsPlace(t *testing.T) {
	checkCode(t, []codeRule{
		{
			name: "the main.go of a function only wires",
			check: func(all []*source) (found []finding) {
				for _, s := range all {
					if under(s.dir(), "functions") && strings.HasSuffix(s.path, "/main.go") && s.lines() > maxMain {
						found = append(found, finding{s.path, s.lines(), "is longer than wiring needs"})
					}
				}
				return found
			},
			breaks: []broken{{"functions/seed/main.go", "package main\n" + strings.Repeat("\n", maxMain)}},
		},
		{
			name:  "keys and expressions of the table are written in the ledger only",
			check: ledgerWordsOutside,
			breaks: []broken{
				{"functions/query/x.go", "package main\nvar k = \"SALE#\" + id\n"},
				{"shared/orderq/x.go", "package orderq\nconst c = `attribute_not_exists(pk)`\n"},
			},
		},
		{
			name:  "errors are matched by value or type, never by their text",
			check: errorsMatchedByText,
			breaks: []broken{
				{"infra/x/x.go", "package x\nfunc f(err error) bool { return err.Error() == \"x\" }\n"},
				{"shared/sale/x.go", "package sale\nfunc f(err error) bool { return strings.Contains(err.Error(), \"x\") }\n"},
				{"functions/seed/x.go", "package main\nfunc f(e error) { switch e.Error() { case \"x\": } }\n"},
			},
		},
	})
}

func ledgerWordsOutside(all []*source) (found []finding) {
	for _, s := range all {
		if !codeIn("shared", "functions")(s) || under(s.dir(), "shared/ledger") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			for _, word := range ledgerWords {
				if strings.Contains(lit.Value, word) {
					found = append(found, s.find(lit.Pos(), "writes %s: it belongs in shared/ledger", lit.Value))
					break
				}
			}
			return true
		})
	}
	return found
}

// textMatchers are the functions of package strings that compare texts.
var textMatchers = []string{"Contains", "ContainsAny", "HasPrefix", "HasSuffix", "EqualFold", "Index", "Count", "Compare", "Cut"}

func errorsMatchedByText(all []*source) (found []finding) {
	for _, s := range all {
		if s.isTest() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			var compared []ast.Expr
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					compared = []ast.Expr{n.X, n.Y}
				}
			case *ast.SwitchStmt:
				compared = []ast.Expr{n.Tag}
			case *ast.CallExpr:
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && isName(sel.X, "strings") && slices.Contains(textMatchers, sel.Sel.Name) {
					compared = n.Args
				}
			}
			if slices.ContainsFunc(compared, isErrorText) {
				found = append(found, s.find(n.Pos(), "matches an error by its text; use errors.Is or errors.As"))
			}
			return true
		})
	}
	return found
}

// isErrorText reports whether an expression is the call x.Error().
func isErrorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Error"
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
