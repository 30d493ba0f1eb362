package checks

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// program is the deployed code, with types: every function of functions/ and the
// packages of shared/. Other modules are loaded by their exported declarations only.
type program struct {
	dir      string // the module's root
	fset     *token.FileSet
	info     *types.Info
	packages map[string]*types.Package
	bodies   map[*types.Func]ast.Node // of functions and methods
	values   map[*types.Var]ast.Expr  // of package-level variables
	inits    []*types.Func            // init functions
	types    []*types.TypeName        // of every scope, including local ones
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
	p := &program{
		fset:     token.NewFileSet(),
		info:     &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}},
		packages: map[string]*types.Package{},
		bodies:   map[*types.Func]ast.Node{},
		values:   map[*types.Var]ast.Expr{},
	}
	// Packages not named here are loaded by their exported declarations.
	all, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Fset: p.fset}, module+"/functions/...", module+"/shared/...")
	if err != nil {
		return nil, fmt.Errorf("load the deployed packages: %w", err)
	}
	for _, pkg := range all {
		if len(pkg.Errors) > 0 {
			return nil, fmt.Errorf("load %s: %w", pkg.PkgPath, pkg.Errors[0])
		}
		p.dir = pkg.Module.Dir
		p.packages[pkg.PkgPath] = pkg.Types
		maps.Copy(p.info.Uses, pkg.TypesInfo.Uses)
		maps.Copy(p.info.Defs, pkg.TypesInfo.Defs)
		maps.Copy(p.info.Types, pkg.TypesInfo.Types)
		p.declare(pkg.Syntax)
	}
	for _, obj := range p.info.Defs {
		if name, ok := obj.(*types.TypeName); ok && !name.IsAlias() && !types.IsInterface(name.Type()) {
			p.types = append(p.types, name)
		}
	}
	slices.SortFunc(p.types, func(a, b *types.TypeName) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return p, nil
}

// declare records the code of a package's functions and variables.
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

// position formats a place in the code for a finding.
func (p *program) position(at token.Pos) string {
	position := p.fset.Position(at)
	name, err := filepath.Rel(p.dir, position.Filename)
	if err != nil {
		name = position.Filename
	}
	return fmt.Sprintf("%s:%d", filepath.ToSlash(name), position.Line)
}
