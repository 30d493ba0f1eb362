package checks

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// finding is one violation of a rule, at one place of the repository.
type finding struct {
	file string // slash-separated, from the module's root
	line int
	text string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.text) }

func report(t *testing.T, findings []finding) {
	t.Helper()
	for _, f := range findings {
		t.Error(f)
	}
}

// root is the folder of go.mod.
func root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// read returns a file of the repository.
func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// files lists the repository's files, from its root, except those in dot folders:
// version control, builds and local data.
func files(t testing.TB) []string {
	t.Helper()
	dir := root(t)
	var names []string
	err := filepath.WalkDir(dir, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, full)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !d.IsDir():
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// source is one parsed Go file.
type source struct {
	path string // slash-separated, from the module's root
	text string
	fset *token.FileSet
	ast  *ast.File
}

func parse(t testing.TB, name, text string) *source {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return &source{path: name, text: text, fset: fset, ast: f}
}

// sources parses every Go file of the repository.
func sources(t testing.TB) []*source {
	t.Helper()
	var all []*source
	for _, name := range files(t) {
		if strings.HasSuffix(name, ".go") {
			all = append(all, parse(t, name, read(t, name)))
		}
	}
	return all
}

func (s *source) dir() string  { return path.Dir(s.path) }
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }
func (s *source) lines() int   { return strings.Count(s.text, "\n") }
func (s *source) find(at token.Pos, format string, args ...any) finding {
	return finding{s.path, s.fset.Position(at).Line, fmt.Sprintf(format, args...)}
}

// under reports whether a slash-separated path is dir or lies in it.
func under(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// isTestSupport reports whether a package of shared exists for tests only. Those of infra are
// refused to the product by the rules of imports.
func isTestSupport(dir string) bool {
	return slices.ContainsFunc([]string{
		"shared/clock/clocktest", "shared/httpapi/httpapitest", "shared/telemetry/telemetrytest", "shared/webpage/webpagetest",
	}, func(support string) bool { return under(dir, support) })
}

// codeRule is a rule for Go files. Each of breaks is a file that it must refuse.
type codeRule struct {
	name   string
	check  func([]*source) []finding
	breaks []broken
}

type broken struct{ path, text string }

func checkCode(t *testing.T, rules []codeRule) {
	t.Helper()
	all := sources(t)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			report(t, rule.check(all))
			for _, b := range rule.breaks {
				if len(rule.check([]*source{parse(t, b.path, b.text)})) == 0 {
					t.Errorf("the rule does not notice %s with\n%s", b.path, b.text)
				}
			}
		})
	}
}
