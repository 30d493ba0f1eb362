package checks

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

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
