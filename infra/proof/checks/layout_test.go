package checks

import (
	"go/ast"
	"go/token"
	"os"
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

func TestEverythingIsWhereTheDesignPutsIt(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(topLevel, e.Name()) {
			t.Errorf("%s: does not belong at the top level", e.Name())
		}
	}
	for _, s := range sources(t) {
		if n := s.fset.File(s.ast.FileStart).LineCount() - 1; n > maxLines {
			t.Errorf("%s has %d lines, want at most %d", s.path, n, maxLines)
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				if slices.ContainsFunc([]string{"t", "b", "f", "tb"}, func(name string) bool { return isName(sel.X, name) }) {
					s.errorf(t, n.Pos(), "skips a test")
				}
			}
			return true
		})
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
	for _, s := range sources(t) {
		if !isDeployed(s) || slices.Contains(clockPackages, s.dir()) {
			continue
		}
		name := "time" // of package time in this file
		for _, spec := range s.ast.Imports {
			if imported, _ := strconv.Unquote(spec.Path.Value); imported == "time" && spec.Name != nil {
				name = spec.Name.Name
			}
		}
		if name == "." {
			t.Errorf("%s imports time without its name: a call that reads the clock would not show", s.path)
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && isName(sel.X, name) && slices.Contains(clockReaders, sel.Sel.Name) {
				s.errorf(t, sel.Pos(), "uses time.%s: take the time as an argument, or measure it with package invocation", sel.Sel.Name)
			}
			return true
		})
	}
}

// ledgerWords are the prefixes of the table's keys and the words of its expressions. No
// other package may contain them.
var ledgerWords = []string{
	"SALE#", "CLAIM#", "STOCK#", "ORDER#", "SEQ#", "SEED#", "WITHDRAWN#",
	"attribute_not_exists", "attribute_exists", "if_not_exists", "begins_with(", "SET #", "ADD #", ":one",
}

func TestOnlyTheLedgerKnowsTheTable(t *testing.T) {
	for _, s := range sources(t) {
		if !codeIn("shared", "functions")(s) || under(s.dir(), "shared/ledger") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if ok && lit.Kind == token.STRING && slices.ContainsFunc(ledgerWords, func(word string) bool { return strings.Contains(lit.Value, word) }) {
				s.errorf(t, lit.Pos(), "writes %s: it belongs in shared/ledger", lit.Value)
			}
			return true
		})
	}
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
