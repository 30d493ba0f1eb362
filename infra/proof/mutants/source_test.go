package mutants

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// expressionFields are the request fields that contain an expression.
var expressionFields = []string{
	"ConditionExpression", "UpdateExpression", "KeyConditionExpression", "FilterExpression", "Statement",
}

// usedAll checks that the suite has sent every expression in the ledger's source, and
// has used each of its consistent reads: what is never sent is never changed. changes
// name the functions that read.
func usedAll(t *testing.T, texts map[string]bool, changes []string) {
	paths, err := filepath.Glob("../../../shared/ledger/*.go")
	if err != nil {
		t.Fatal(err)
	}
	source := writings{}
	var requests []ast.Expr
	reads := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			source.note(declaration)
			readsConsistently := func() {
				reads++
				reader := declaration.(*ast.FuncDecl).Name.Name
				if !slices.ContainsFunc(changes, func(c string) bool {
					chain, change, _ := strings.Cut(c, ": ")
					return strings.HasSuffix(change, " eventually consistent") && strings.HasSuffix(chain, reader)
				}) {
					t.Errorf("the suite never reads consistently in %s", reader)
				}
			}
			ast.Inspect(declaration, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					name, _ := n.Key.(*ast.Ident)
					if name == nil {
						return true
					}
					if slices.Contains(expressionFields, name.Name) {
						requests = append(requests, n.Value)
					}
					if name.Name == "ConsistentRead" {
						readsConsistently()
					}
				case *ast.SelectorExpr: // of an assignment
					if n.Sel.Name == "ConsistentRead" {
						readsConsistently()
					}
				}
				return true
			})
		}
	}
	if len(requests) < 15 || reads < 4 {
		t.Fatalf("only %d expressions and %d reads in the source", len(requests), reads)
	}
	for _, request := range requests {
		fragments := source.fragments(request, nil)
		if len(fragments) == 0 {
			t.Errorf("no text found for an expression: %#v", request)
		}
		for _, fragment := range fragments {
			seen := false
			for text := range texts {
				seen = seen || strings.Contains(text, strings.TrimSpace(fragment))
			}
			if !seen {
				t.Errorf("the suite never sends %q", fragment)
			}
		}
	}
}

// writings are the expressions assigned to each name, anywhere in the package.
type writings map[string][]ast.Expr

func (w writings) note(n ast.Node) {
	pair := func(names, values []ast.Expr) {
		if len(names) != len(values) {
			return // a call with several results is not a text
		}
		for i, name := range names {
			if id, ok := name.(*ast.Ident); ok {
				w[id.Name] = append(w[id.Name], values[i])
			}
		}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			names := make([]ast.Expr, len(n.Names))
			for i, name := range n.Names {
				names[i] = name
			}
			pair(names, n.Values)
		case *ast.AssignStmt:
			pair(n.Lhs, n.Rhs)
		case *ast.KeyValueExpr:
			pair([]ast.Expr{n.Key}, []ast.Expr{n.Value})
		}
		return true
	})
}

// fragments returns the texts of which a source expression is composed.
func (w writings) fragments(e ast.Expr, through []string) []string {
	follow := func(name string) []string {
		if slices.Contains(through, name) {
			return nil
		}
		var all []string
		for _, value := range w[name] {
			all = append(all, w.fragments(value, append(through, name))...)
		}
		return all
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && len(text) > 1 {
			return []string{text}
		}
	case *ast.Ident:
		return follow(e.Name)
	case *ast.SelectorExpr:
		return follow(e.Sel.Name)
	case *ast.UnaryExpr:
		return w.fragments(e.X, through)
	case *ast.ParenExpr:
		return w.fragments(e.X, through)
	case *ast.BinaryExpr:
		return append(w.fragments(e.X, through), w.fragments(e.Y, through)...)
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "String" { // aws.String
			return w.fragments(e.Args[0], through)
		}
	}
	return nil
}
