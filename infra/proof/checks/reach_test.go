package checks

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// needs is what the code of one function requires of its environment, each with a place
// in the code.
type needs struct {
	actions   map[string]token.Pos // IAM actions of SQS and EventBridge
	variables map[string]token.Pos // environment variables, except AWS's own
	ledger    map[string]bool      // functions of the ledger, as a stack calls them
	service   string               // service dimension of its metrics
	metrics   map[string]emission  // by name
}

// lambdaPackage calls its argument: a function, or a value's Invoke.
const lambdaPackage = "github.com/aws/aws-lambda-go/lambda"

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
			actions: map[string]token.Pos{}, variables: map[string]token.Pos{}, ledger: map[string]bool{}, metrics: map[string]emission{},
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
	switch n := n.(type) {
	case *ast.CallExpr:
		w.environment(n)
		w.telemetry(n)
		w.handler(n)
	case *ast.Ident:
		switch obj := w.info.Uses[n].(type) {
		case *types.Func:
			w.enter(obj.Origin(), n.Pos())
		case *types.Var:
			w.value(obj)
		}
	}
	return true
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

// value records a mentioned variable: the value of a package-level one may be called.
func (w *walk) value(v *types.Var) {
	if given, ok := w.values[v]; ok && !w.seen[v] {
		w.seen[v] = true
		w.todo = append(w.todo, given)
	}
}

// handler enters the Invoke of a value passed to aws-lambda-go, which calls it without
// a mention in this module.
func (w *walk) handler(call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	start, ok := w.info.Uses[sel.Sel].(*types.Func)
	if !ok || start.Pkg() == nil || start.Pkg().Path() != lambdaPackage {
		return
	}
	for _, arg := range call.Args {
		obj, _, _ := types.LookupFieldOrMethod(w.info.Types[arg].Type, true, start.Pkg(), "Invoke")
		if invoke, ok := obj.(*types.Func); ok {
			w.enter(invoke.Origin(), arg.Pos())
		}
	}
}

// environment records which variable a call of os.Getenv or os.LookupEnv reads.
func (w *walk) environment(call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 {
		return
	}
	fn, ok := w.info.Uses[sel.Sel].(*types.Func)
	if !ok || !slices.Contains([]string{"os.Getenv", "os.LookupEnv"}, fn.FullName()) {
		return
	}
	value := w.info.Types[call.Args[0]].Value
	if value == nil {
		w.t.Errorf("%s: reads an environment variable whose name is not a constant", w.position(call.Pos()))
		return
	}
	if name := constant.StringVal(value); !strings.HasPrefix(name, "AWS_") {
		w.found.variables[name] = call.Pos()
	}
}

// actionOf returns the IAM action of a function that takes an operation's input: the
// client's method, an interface's, or a helper such as a paginator's constructor.
func actionOf(signature *types.Signature) string {
	for v := range signature.Params().Variables() {
		pointer, ok := v.Type().(*types.Pointer)
		if !ok {
			continue
		}
		pkg, name := typeName(pointer.Elem())
		operation, isInput := strings.CutSuffix(name, "Input")
		switch {
		case !isInput:
		case pkg == sqsPackage:
			return "sqs:" + strings.TrimSuffix(operation, "Batch")
		case pkg == eventsPackage:
			return "events:" + operation
		}
	}
	return ""
}

func typeName(t types.Type) (pkg, name string) {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return "", ""
	}
	return named.Obj().Pkg().Path(), named.Obj().Name()
}
