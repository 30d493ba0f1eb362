package checks

import (
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

const module = "flashsale"

// root is the folder of go.mod.
const root = "../../.."

// read returns a file of the repository.
func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// source is one parsed Go file.
type source struct {
	path string // slash-separated, from the module's root
	fset *token.FileSet
	ast  *ast.File
}

// parsed is what sources has found.
var parsed []*source

// sources parses every Go file of the repository, except those in dot folders: version control, builds and
// local data. It does so once for all tests.
func sources(t testing.TB) []*source {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	err := filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, full)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		s := &source{path: filepath.ToSlash(name), fset: token.NewFileSet()}
		s.ast, err = parser.ParseFile(s.fset, s.path, read(t, name), parser.ParseComments)
		parsed = append(parsed, s)
		return err
	})
	if err != nil {
		parsed = nil
		t.Fatal(err)
	}
	return parsed
}

func (s *source) dir() string  { return path.Dir(s.path) }
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s *source) errorf(t *testing.T, at token.Pos, format string, args ...any) {
	t.Helper()
	t.Errorf("%s: "+format, append([]any{s.fset.Position(at)}, args...)...)
}

// under reports whether a slash-separated path is dir or lies in it.
func under(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

func anyIn(dirs ...string) func(*source) bool {
	return func(s *source) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return under(s.dir(), d) })
	}
}

func codeIn(dirs ...string) func(*source) bool {
	return func(s *source) bool { return !s.isTest() && anyIn(dirs...)(s) }
}

// isTestSupport reports whether a package of shared exists for tests only. Those of infra are
// refused to the product by the rules of imports.
func isTestSupport(dir string) bool {
	return under(dir, "shared") && strings.HasSuffix(dir, "test")
}

// isDeployed reports whether a file is part of a function's program.
func isDeployed(s *source) bool { return codeIn("shared", "functions")(s) && !isTestSupport(s.dir()) }
