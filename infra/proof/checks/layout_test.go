package checks

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNoTestIsSkipped(t *testing.T) {
	for _, s := range sources(t) {
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
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && isName(sel.X, "time") && slices.Contains(clockReaders, sel.Sel.Name) {
				s.errorf(t, sel.Pos(), "uses time.%s: take the time as an argument, or measure it with package invocation", sel.Sel.Name)
			}
			return true
		})
	}
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func TestNoLineOfTheProductIsLongerThan120Characters(t *testing.T) {
	for _, s := range sources(t) {
		if isDeployed(s) {
			for i, line := range strings.Split(read(t, s.path), "\n") {
				if n := utf8.RuneCountInString(line); n > 120 {
					t.Errorf("%s:%d has %d characters", s.path, i+1, n)
				}
			}
		}
	}
}
