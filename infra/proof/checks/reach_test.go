package checks

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// program is the deployed code, with types: every function of functions/ and the
// packages of shared/. Other modules are loaded by their exported declarations only.
type program struct {
	fset     *token.FileSet
	info     *types.Info
	packages map[string]*types.Package
	bodies   map[types.Object]ast.Node // of functions, methods and package-level variables
	inits    []*types.Func             // init functions
	types    []*types.TypeName         // of every scope, including local ones
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
		bodies:   map[types.Object]ast.Node{},
	}
	all, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Fset: p.fset}, module+"/functions/...", module+"/shared/...")
	if err != nil {
		return nil, fmt.Errorf("load the deployed packages: %w", err)
	}
	for _, pkg := range all {
		if len(pkg.Errors) > 0 {
			return nil, fmt.Errorf("load %s: %w", pkg.PkgPath, pkg.Errors[0])
		}
		p.packages[pkg.PkgPath] = pkg.Types
		maps.Copy(p.info.Uses, pkg.TypesInfo.Uses)
		maps.Copy(p.info.Defs, pkg.TypesInfo.Defs)
		maps.Copy(p.info.Types, pkg.TypesInfo.Types)
		for _, f := range pkg.Syntax {
			for _, d := range f.Decls {
				p.declare(d)
			}
		}
	}
	for _, obj := range p.info.Defs {
		if name, ok := obj.(*types.TypeName); ok && !name.IsAlias() && !types.IsInterface(name.Type()) {
			p.types = append(p.types, name)
		}
	}
	return p, nil
}

// declare records the code of a package's functions and variables.
func (p *program) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		fn := p.info.Defs[d.Name].(*types.Func)
		p.bodies[fn] = d
		if d.Recv == nil && d.Name.Name == "init" {
			p.inits = append(p.inits, fn)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if values, ok := spec.(*ast.ValueSpec); ok && len(values.Values) > 0 {
				for i, name := range values.Names {
					p.bodies[p.info.Defs[name]] = values.Values[min(i, len(values.Values)-1)]
				}
			}
		}
	}
}

// position formats a place in the code.
func (p *program) position(at token.Pos) string { return p.fset.Position(at).String() }

// needs is what the code of one function requires of its environment, each with a place
// in the code.
type needs struct {
	actions   map[string]token.Pos // IAM actions of all services but DynamoDB
	variables map[string]token.Pos // environment variables, except AWS's own
	ledger    map[string]bool      // functions of the ledger, as a stack calls them
	service   string               // service dimension of its metrics
	metrics   map[string]string    // by name, with their dimension besides the service, "" for none
	texts     map[string]bool      // constants: a dimension takes no other value
}

// walk finds everything that main of one function can reach. Everything that a reached
// function mentions counts as called, even if it is only passed on; a call through an
// interface reaches every type of the function's packages that implements it. So it may
// find too much but never too little.
type walk struct {
	*program
	t     testing.TB
	scope map[string]*types.Package // the packages of this module that main imports
	seen  map[types.Object]bool
	todo  []ast.Node
	found needs
}

// needsOf returns the needs of functions/<folder>.
func needsOf(t testing.TB, folder string) needs {
	t.Helper()
	p := deployed(t)
	pkg := p.packages[module+"/functions/"+folder]
	if pkg == nil {
		t.Fatalf("functions/%s is not a package", folder)
	}
	w := &walk{
		program: p, t: t,
		scope: map[string]*types.Package{}, seen: map[types.Object]bool{},
		found: needs{
			actions: map[string]token.Pos{}, variables: map[string]token.Pos{}, ledger: map[string]bool{}, metrics: map[string]string{}, texts: map[string]bool{},
		},
	}
	w.include(pkg)
	w.enter(pkg.Scope().Lookup("main").(*types.Func), token.NoPos)
	for _, fn := range p.inits {
		if w.scope[fn.Pkg().Path()] != nil {
			w.enter(fn, token.NoPos)
		}
	}
	for len(w.todo) > 0 {
		next := w.todo[0]
		w.todo = w.todo[1:]
		ast.Inspect(next, w.visit)
	}
	for obj := range w.seen {
		if fn, ok := obj.(*types.Func); ok {
			w.found.ledger[strings.Replace(fn.FullName(), ledgerPackage, "", 1)] = true
		}
	}
	return w.found
}

func (w *walk) include(pkg *types.Package) {
	if w.packages[pkg.Path()] == nil || w.scope[pkg.Path()] != nil {
		return
	}
	w.scope[pkg.Path()] = pkg
	for _, imported := range pkg.Imports() {
		w.include(imported)
	}
}

func (w *walk) visit(n ast.Node) bool {
	if e, ok := n.(ast.Expr); ok {
		if text, ok := w.constantOf(e); ok {
			w.found.texts[text] = true
		}
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
			if fn, ok := w.info.Uses[sel.Sel].(*types.Func); ok {
				w.call(fn, n.Args)
			}
		}
	case *ast.Ident:
		switch obj := w.info.Uses[n].(type) {
		case *types.Func:
			w.enter(obj.Origin(), n.Pos())
		case *types.Var: // the value of a package-level one may be called
			if given, ok := w.bodies[obj]; ok && !w.seen[obj] {
				w.seen[obj] = true
				w.todo = append(w.todo, given)
			}
		}
	}
	return true
}

// call records what a function is told by its arguments. Calls within package telemetry only pass on their own.
func (w *walk) call(fn *types.Func, args []ast.Expr) {
	inTelemetry := len(args) > 0 && strings.Contains(w.position(args[0].Pos()), "/shared/telemetry/")
	switch name := strings.ReplaceAll(fn.FullName(), module+"/shared/", ""); {
	case name == "os.Getenv" || name == "os.LookupEnv":
		if variable := w.constant(args[0]); !strings.HasPrefix(variable, "AWS_") {
			w.found.variables[variable] = args[0].Pos()
		}
	case inTelemetry:
	case name == "telemetry.New":
		w.found.service = w.constant(args[1])
	case name == "(*telemetry.Event).Metric":
		w.found.metrics[w.constant(args[0])] = ""
	case name == "(*telemetry.Event).CountBy":
		w.found.metrics[w.constant(args[0])] = w.constant(args[1])
	case strings.HasPrefix(name, "github.com/aws/aws-lambda-go/lambda."):
		// It calls the Invoke of its argument without a mention in this module.
		for _, arg := range args {
			obj, _, _ := types.LookupFieldOrMethod(w.info.Types[arg].Type, true, fn.Pkg(), "Invoke")
			if invoke, ok := obj.(*types.Func); ok {
				w.enter(invoke.Origin(), arg.Pos())
			}
		}
	}
}

// enter records a mentioned function, and its implementations.
func (w *walk) enter(fn *types.Func, at token.Pos) {
	signature := fn.Signature()
	if action := actionOf(signature); action != "" {
		if _, known := w.found.actions[action]; !known {
			w.found.actions[action] = at
		}
	}
	if w.seen[fn] {
		return
	}
	w.seen[fn] = true
	if body, ours := w.bodies[fn]; ours {
		w.todo = append(w.todo, body)
	}
	if recv := signature.Recv(); recv != nil {
		if iface, ok := recv.Type().Underlying().(*types.Interface); ok {
			w.implementations(fn, iface, at)
		}
	}
}

func (w *walk) implementations(method *types.Func, iface *types.Interface, at token.Pos) {
	for _, named := range w.types {
		if w.scope[named.Pkg().Path()] == nil || !types.Implements(types.NewPointer(named.Type()), iface) {
			continue
		}
		obj, _, _ := types.LookupFieldOrMethod(named.Type(), true, method.Pkg(), method.Name())
		if fn, ok := obj.(*types.Func); ok {
			w.enter(fn.Origin(), at)
		}
	}
}

// constantOf returns the text of a constant expression.
func (w *walk) constantOf(e ast.Expr) (string, bool) {
	if v := w.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v), true
	}
	return "", false
}

// constant returns the text of an expression that must be one.
func (w *walk) constant(e ast.Expr) string {
	text, ok := w.constantOf(e)
	if !ok {
		w.t.Errorf("%s: names a metric, a dimension or a variable by what is not a constant", w.position(e.Pos()))
	}
	return text
}

// actionOf returns the IAM action of a function that takes an operation's input: the
// client's method, an interface's, or a helper such as a paginator's constructor.
func actionOf(signature *types.Signature) string {
	for v := range signature.Params().Variables() {
		path, name, _ := strings.Cut(strings.TrimPrefix(v.Type().String(), "*"), "service/")
		if path != "github.com/aws/aws-sdk-go-v2/" {
			continue
		}
		service, operation, _ := strings.Cut(strings.TrimSuffix(name, "Input"), ".")
		switch {
		case !strings.HasSuffix(name, "Input"):
		case service == "sqs":
			return "sqs:" + strings.TrimSuffix(operation, "Batch")
		case service == "eventbridge":
			return "events:" + operation
		case service == "lambda" && operation == "Invoke":
			return "lambda:InvokeFunction"
		case service == "lambda", service == "cloudwatch":
			return service + ":" + operation
		}
	}
	return ""
}
