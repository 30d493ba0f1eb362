package mutants

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var operatorPackages = flag.String("packages", "shared/orderid shared/orderq shared/jsonwrite", "packages whose operators are changed in turn")

// swaps are the replacements of each operator: a comparison by its neighbour and by its
// opposite, plus by minus, "and" by "or"; and of the functions that are operators by
// another name.
var swaps = map[string][]string{
	"<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"}, "==": {"!="}, "!=": {"=="},
	"+": {"-"}, "-": {"+"}, "*": {"/"}, "/": {"*"}, "%": {"*"}, "++": {"--"}, "--": {"++"}, "&&": {"||"}, "||": {"&&"},
	"Before": {"After"}, "After": {"Before"}, "min": {"max"}, "max": {"min"}, "TrimSpace": {"Clone"},
}

// survivorsList are the changes that no test of the package can detect, with the reasons.
//
//go:embed survivors.txt
var survivorsList string

// slowTests are not run for each operator: they take long, and their findings are
// random.
const slowTests = "^(TestReleasingManyClaims|TestARecallOfManyOrders|TestTheLedgerOverAFakeFullOfContention)"

// testsOf returns the package whose tests must notice a change of a package: the ledger's tests are those of
// the packages below it, too.
func testsOf(pkg string) string {
	if strings.HasPrefix(pkg, "shared/ledger/") {
		pkg = "shared/ledger"
	}
	return "./" + pkg
}

// TestEveryOperatorIsNeeded changes one operator after the other, and runs the tests of
// its package: one of them must fail. Changes that survive must be listed in survivors.txt
// with the reason, and listed changes must survive.
func TestEveryOperatorIsNeeded(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	seen, survivors := map[string]bool{}, reasonsIn(survivorsList)
	for _, pkg := range strings.Fields(*operatorPackages) {
		all, err := operatorChanges(root, pkg)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(pkg, func(t *testing.T) {
			if len(all) == 0 {
				t.Log("no operators")
				return
			}
			built := newBuilds(t, root, all)
			tests, stages := testsOf(pkg), []string{"."}
			if tests == "./shared/ledger" { // these take a second, and notice most changes
				stages = []string{"^TestTheLedgerOverTheFake$", "."}
			}
			binary := built.common[tests]
			t.Run("operators", func(t *testing.T) {
				start := time.Now()
				if out, err := built.run(t, binary, tests, unchanged, ".", limit); err != nil {
					t.Fatalf("the tests fail without a change: %v\n%s", err, out)
				}
				// A change that makes them endless is noticed when they have taken longer than this. Tests that
				// run in parallel take longer, but not ten times as long.
				patience := min(limit, 20*time.Second+10*time.Since(start))
				for number, c := range all {
					t.Run(c.name, func(t *testing.T) {
						t.Parallel()
						own, err := built.binary(number)
						if err != nil {
							return // it does not compile: 1 << -2, "a" - "b"
						}
						if own != binary {
							defer os.Remove(own)
						}
						var out []byte
						for _, s := range stages {
							if out, err = built.run(t, own, tests, number, s, patience); err != nil {
								break
							}
						}
						reason, listed := survivors[c.name]
						switch {
						case err == nil && !listed:
							t.Errorf("no test of %s notices: %s", tests, c.name)
						case err != nil && listed:
							t.Errorf("listed as a survivor (%s), but a test fails:\n%s", reason, out)
						}
					})
				}
			})
			t.Logf("%d changes", len(all))
		})
		for _, c := range all {
			seen[c.name] = true
		}
	}
	for name := range survivors {
		file, _, _ := strings.Cut(name, ": ")
		if !seen[name] && slices.Contains(strings.Fields(*operatorPackages), filepath.Dir(file)) {
			t.Errorf("a listed survivor that is no change any more: %s", name)
		}
	}
}

// operatorChanges returns all changes of one operator in a package's source.
func operatorChanges(root, pkg string) ([]change, error) {
	files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []change
	count := map[string]int{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		s, err := parse(path)
		if err != nil {
			return nil, err
		}
		add := func(p token.Pos, was string) {
			at := s.offset(p)
			start := bytes.LastIndexByte(s.text[:at], '\n') + 1
			line, _, _ := bytes.Cut(s.text[start:], []byte("\n"))
			for _, is := range swaps[was] {
				name := fmt.Sprintf("%s: %s: %s for %s", filepath.Join(pkg, filepath.Base(path)), bytes.TrimSpace(line), is, was)
				if count[name]++; count[name] > 1 {
					name += fmt.Sprintf(" (%d)", count[name])
				}
				all = append(all, change{name: name, pkg: testsOf(pkg), source: s, at: at, old: was, new: is})
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				add(n.OpPos, n.Op.String())
			case *ast.IncDecStmt:
				add(n.TokPos, n.Tok.String())
			case *ast.UnaryExpr:
				if n.Op == token.SUB {
					add(n.OpPos, n.Op.String())
				}
			case *ast.CallExpr:
				switch f := n.Fun.(type) {
				case *ast.Ident:
					add(f.Pos(), f.Name)
				case *ast.SelectorExpr:
					add(f.Sel.Pos(), f.Sel.Name)
				}
			}
			return true
		})
	}
	return all, nil
}
