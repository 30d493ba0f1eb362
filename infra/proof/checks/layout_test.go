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

// reserved is what only reservedTo may use. It reads a clock, or starts something that may outlive its invocation and run
// in a frozen environment, or end the process with all events that are in flight in it. A timer or time.After in a select
// belongs to its invocation.
var reserved = []string{
	"time.Now", "time.Since", "time.Until", "time.AfterFunc", "time.NewTicker", "time.Tick", "sync.WaitGroup", "errgroup.Group", "errgroup.WithContext",
}

// reservedTo are the packages of the clock of state that outlives an invocation, and of what happens within one.
var reservedTo = []string{"shared/clock", "shared/invocation"}

func TestAnEnvironmentAgesByOneWallClockAndAPanicEndsItsEventAlone(t *testing.T) {
	for _, s := range sources(t) {
		if !isDeployed(s) || slices.Contains(reservedTo, s.dir()) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			used := ""
			switch n := n.(type) {
			case *ast.GoStmt:
				used = "go"
			case *ast.CallExpr:
				if isName(n.Fun, "recover") {
					used = "recover"
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && slices.Contains(reserved, x.Name+"."+n.Sel.Name) {
					used = x.Name + "." + n.Sel.Name
				}
			}
			if used != "" {
				s.errorf(t, n.Pos(), "uses %s: take the time as an argument, or measure it, start goroutines and recover with package invocation", used)
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
