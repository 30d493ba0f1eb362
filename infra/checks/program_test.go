package checks

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// program is what is deployed, with types: every function of functions/ and the
// packages of this module that they need. Other modules are known by their
// exported declarations only.
type program struct {
	dir      string // the module's root
	fset     *token.FileSet
	info     *types.Info
	packages map[string]*types.Package
	bodies   map[*types.Func]ast.Node // of functions and methods
	values   map[*types.Var]ast.Expr  // of package-level variables
	inits    []*types.Func            // init functions
	types    []*types.TypeName        // of every scope, local ones included
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath string
	Dir        string
	Export     string
	GoFiles    []string
	Module     *struct{ Main bool }
	Error      *struct{ Err string }
}

var loadOnce = sync.OnceValues(load)

// deployed loads the program, once for all tests.
func deployed(t testing.TB) *program {
	t.Helper()
	p, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func load() (*program, error) {
	packages, err := list()
	if err != nil {
		return nil, err
	}
	p := &program{
		fset:     token.NewFileSet(),
		info:     &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}},
		packages: map[string]*types.Package{},
		bodies:   map[*types.Func]ast.Node{},
		values:   map[*types.Var]ast.Expr{},
	}
	exports := map[string]string{}
	others := importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	config := types.Config{Importer: importFunc(func(path string) (*types.Package, error) {
		if ours, ok := p.packages[path]; ok {
			return ours, nil
		}
		return others.Import(path)
	})}
	for _, l := range packages { // dependencies come first
		exports[l.ImportPath] = l.Export
		if l.Module == nil || !l.Module.Main {
			continue
		}
		p.dir = strings.TrimSuffix(l.Dir, filepath.FromSlash(strings.TrimPrefix(l.ImportPath, module)))
		var parsed []*ast.File
		for _, name := range l.GoFiles {
			f, err := parser.ParseFile(p.fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			parsed = append(parsed, f)
		}
		checked, err := config.Check(l.ImportPath, p.fset, parsed, p.info)
		if err != nil {
			return nil, err
		}
		p.packages[l.ImportPath] = checked
		p.declare(parsed)
	}
	for _, obj := range p.info.Defs {
		if name, ok := obj.(*types.TypeName); ok && !name.IsAlias() && !types.IsInterface(name.Type()) {
			p.types = append(p.types, name)
		}
	}
	slices.SortFunc(p.types, func(a, b *types.TypeName) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return p, nil
}

type importFunc func(string) (*types.Package, error)

func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }

// list asks the go command for the deployed packages and all they need.
func list() ([]listed, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module,Error", module+"/functions/...")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("list the deployed packages: %w\n%s", err, exit.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("list the deployed packages: %w", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode the package list: %w", err)
		}
		if l.Error != nil {
			return nil, fmt.Errorf("list %s: %s", l.ImportPath, l.Error.Err)
		}
		all = append(all, l)
	}
}

// declare notes where the functions and variables of a package have their code.
func (p *program) declare(parsed []*ast.File) {
	for _, f := range parsed {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				fn := p.info.Defs[d.Name].(*types.Func)
				p.bodies[fn] = d
				if d.Recv == nil && d.Name.Name == "init" {
					p.inits = append(p.inits, fn)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					p.declareValues(spec)
				}
			}
		}
	}
}

func (p *program) declareValues(spec ast.Spec) {
	values, ok := spec.(*ast.ValueSpec)
	if !ok || len(values.Values) == 0 {
		return
	}
	for i, name := range values.Names {
		if v, ok := p.info.Defs[name].(*types.Var); ok {
			p.values[v] = values.Values[min(i, len(values.Values)-1)]
		}
	}
}

// position is a place in the code as a finding shows it.
func (p *program) position(at token.Pos) string {
	position := p.fset.Position(at)
	name, err := filepath.Rel(p.dir, position.Filename)
	if err != nil {
		name = position.Filename
	}
	return fmt.Sprintf("%s:%d", filepath.ToSlash(name), position.Line)
}
