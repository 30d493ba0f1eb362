package security

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The threat model names the test that proves each line; all of them and all link
// targets must exist.
func TestTheThreatModelNamesTestsAndFilesThatExist(t *testing.T) {
	root := rootOf(t)
	tests := map[string]bool{}
	find := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[f.Name.Name] = true
			}
		}
		return nil
	}
	for _, folder := range []string{"functions", "shared", "infra"} {
		if err := filepath.WalkDir(filepath.Join(root, folder), find); err != nil {
			t.Fatal(err)
		}
	}
	text := read(t, ".github/SECURITY.md")
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1)
	if len(named) < 20 {
		t.Errorf("the threat model names only %d tests", len(named))
	}
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("there is no test %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\]\(\.\./([^)#]+)\)`).FindAllStringSubmatch(text, -1) {
		if all, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil || len(all) == 0 {
			t.Errorf("the threat model links to %s, which does not exist", m[1])
		}
	}
}
