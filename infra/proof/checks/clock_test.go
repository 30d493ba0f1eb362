package checks

import (
	"go/ast"
	"slices"
	"strconv"
	"testing"
)

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
