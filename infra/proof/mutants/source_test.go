package mutants

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	// expressionText matches an expression of DynamoDB, and a part that the ledger composes one of.
	expressionText = regexp.MustCompile(`^(SET|REMOVE|ADD|DELETE|UPDATE|INSERT) |\battribute_(not_)?exists\b|(^|\W)#[a-z]| = \?`)
	// placeholder matches a name for an attribute in an expression.
	placeholder = regexp.MustCompile(`^#\w+$`)
)

// usedAll checks that the suite has sent every expression in the ledger's source, and
// has used each of its consistent reads: what is never sent is never changed. changes
// name the functions that read.
func usedAll(t *testing.T, texts map[string]bool, changes []string) {
	paths, err := filepath.Glob("../../../shared/ledger/*.go")
	if err != nil {
		t.Fatal(err)
	}
	expressions, reads := 0, 0
	sent := func(literal string) {
		part, err := strconv.Unquote(literal)
		if part = strings.TrimSpace(part); err != nil || !expressionText.MatchString(part) || placeholder.MatchString(part) {
			return
		}
		expressions++
		for text := range texts {
			if strings.Contains(text, part) {
				return
			}
		}
		t.Errorf("the suite never sends %q", part)
	}
	readsConsistently := func(reader string) {
		reads++
		if !slices.ContainsFunc(changes, func(c string) bool {
			chain, change, _ := strings.Cut(c, ": ")
			return strings.HasSuffix(change, " eventually consistent") && strings.HasSuffix(chain, reader)
		}) {
			t.Errorf("the suite never reads consistently in %s", reader)
		}
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			ast.Inspect(declaration, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					sent(n.Value)
				case *ast.Ident: // a request's field, in a literal or in an assignment
					if n.Name == "ConsistentRead" {
						readsConsistently(declaration.(*ast.FuncDecl).Name.Name)
					}
				}
				return true
			})
		}
	}
	if expressions < 100 || reads < 4 {
		t.Fatalf("only %d expressions and %d reads in the source", expressions, reads)
	}
}
