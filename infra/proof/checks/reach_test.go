package checks

import (
	"fmt"
	"go/constant"
	"go/types"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// deployed is the deployed code, loaded once for all tests: every function of functions/ and the packages of
// shared/. Other modules are loaded by their exported declarations only.
var deployed = sync.OnceValues(func() (*ssa.Program, error) {
	all, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax}, module+"/functions/...", module+"/shared/...")
	if err != nil {
		return nil, fmt.Errorf("load the deployed packages: %w", err)
	}
	for _, pkg := range all {
		if len(pkg.Errors) > 0 {
			return nil, fmt.Errorf("load %s: %w", pkg.PkgPath, pkg.Errors[0])
		}
	}
	program, _ := ssautil.Packages(all, ssa.InstantiateGenerics)
	program.Build()
	return program, nil
})

// needs is what the code of one function requires of its environment.
type needs struct {
	actions   map[string]string // IAM actions of all services but DynamoDB, with a place in the code
	variables map[string]string // environment variables, except AWS's own, with a place in the code
	ledger    map[string]bool   // functions of the ledger, as a stack calls them
	service   string            // service dimension of its metrics
	metrics   map[string]string // by name, with their dimension besides the service, "" for none
	texts     map[string]bool   // constants: a dimension takes no other value
}

// walk finds everything that main of one function can reach. Everything that a reached
// function mentions counts as called, even if it is only passed on; a call through an
// interface reaches every type of the function's packages that implements it. So it may
// find too much but never too little.
type walk struct {
	*ssa.Program
	t     testing.TB
	scope map[*types.Package]bool // the packages of this module that main imports
	seen  map[*ssa.Function]bool
	todo  []*ssa.Function
	found needs
}

var known = map[string]needs{} // by folder

// needsOf returns the needs of functions/<folder>.
func needsOf(t testing.TB, folder string) needs {
	t.Helper()
	if of, ok := known[folder]; ok {
		return of
	}
	program, err := deployed()
	if err != nil {
		t.Fatal(err)
	}
	pkg := program.ImportedPackage(module + "/functions/" + folder)
	if pkg == nil {
		t.Fatalf("functions/%s is not a package", folder)
	}
	w := &walk{
		Program: program, t: t, scope: map[*types.Package]bool{}, seen: map[*ssa.Function]bool{},
		found: needs{
			actions: map[string]string{}, variables: map[string]string{}, ledger: map[string]bool{}, metrics: map[string]string{}, texts: map[string]bool{},
		},
	}
	w.include(pkg.Pkg)
	w.enter(pkg.Func("main"), "")
	w.enter(pkg.Func("init"), "") // it calls those of all imported packages, and sets their variables
	handler := program.ImportedPackage("github.com/aws/aws-lambda-go/lambda").Type("Handler").Object().Type().Underlying().(*types.Interface)
	w.implementations(handler.Method(0), handler) // which Lambda calls without a mention in this module
	for len(w.todo) > 0 {
		next := w.todo[0]
		w.todo = w.todo[1:]
		for _, block := range next.Blocks {
			for _, instruction := range block.Instrs {
				w.visit(next, instruction)
			}
		}
	}
	for fn := range w.seen {
		w.found.ledger[strings.Replace(fn.String(), ledgerPackage, "", 1)] = true
	}
	known[folder] = w.found
	return w.found
}

func (w *walk) include(pkg *types.Package) {
	if w.scope[pkg] || !under(pkg.Path(), module) {
		return
	}
	w.scope[pkg] = true
	for _, imported := range pkg.Imports() {
		w.include(imported)
	}
}

func (w *walk) visit(of *ssa.Function, instruction ssa.Instruction) {
	place := w.Fset.Position(instruction.Pos()).String()
	for _, operand := range instruction.Operands(nil) {
		switch v := (*operand).(type) {
		case *ssa.Function:
			w.enter(v, place)
		case *ssa.Const:
			if text, ok := textOf(v); ok {
				w.found.texts[text] = true
			}
		}
	}
	if call, ok := instruction.(ssa.CallInstruction); !ok {
		return
	} else if common := call.Common(); common.IsInvoke() {
		w.act(common.Method.Signature(), place)
		w.implementations(common.Method, common.Value.Type().Underlying().(*types.Interface))
	} else if fn := common.StaticCallee(); fn != nil {
		w.call(of, strings.ReplaceAll(fn.String(), module+"/shared/", ""), common.Args, place)
	}
}

// call records what a function is told by its arguments, the first of which is a method's receiver. Calls within
// packages telemetry and startup only pass on their own.
func (w *walk) call(by *ssa.Function, name string, args []ssa.Value, place string) {
	text := func(i int) string {
		text, ok := textOf(args[i])
		if !ok {
			w.t.Errorf("%s: names a metric, a dimension or a variable by what is not a constant", place)
		}
		return text
	}
	switch {
	case name == "os.Getenv" || name == "os.LookupEnv":
		if variable := text(0); !strings.HasPrefix(variable, "AWS_") {
			w.found.variables[variable] = place
		}
	case strings.Contains(by.String(), module+"/shared/telemetry."), strings.Contains(by.String(), module+"/shared/startup."):
	case name == "startup.AWS" || name == "startup.Function":
		w.found.service = text(0)
	case name == "(*telemetry.Event).Metric":
		w.found.metrics[text(1)] = ""
	case name == "(*telemetry.Event).CountBy":
		w.found.metrics[text(1)] = text(2)
	}
}

// enter records a mentioned function.
func (w *walk) enter(fn *ssa.Function, place string) {
	if w.act(fn.Signature, place); !w.seen[fn] {
		w.seen[fn] = true
		w.todo = append(w.todo, fn)
	}
}

func (w *walk) implementations(method *types.Func, iface *types.Interface) {
	for _, t := range w.RuntimeTypes() {
		of := t
		if pointer, ok := of.(*types.Pointer); ok {
			of = pointer.Elem()
		}
		if named, ok := types.Unalias(of).(*types.Named); ok && w.scope[named.Obj().Pkg()] && !types.IsInterface(t) && types.Implements(t, iface) {
			w.enter(w.LookupMethod(t, method.Pkg(), method.Name()), "")
		}
	}
}

// textOf returns the text of a constant.
func textOf(v ssa.Value) (string, bool) {
	if c, ok := v.(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.String {
		return constant.StringVal(c.Value), true
	}
	return "", false
}

// act records the IAM action of a function that takes an operation's input: the client's method, an interface's, or
// a helper such as a paginator's constructor.
func (w *walk) act(signature *types.Signature, place string) {
	for v := range signature.Params().Variables() {
		path, name, _ := strings.Cut(strings.TrimPrefix(v.Type().String(), "*"), "service/")
		service, operation, _ := strings.Cut(name, ".")
		operation, isInput := strings.CutSuffix(operation, "Input")
		action := map[string]string{"sqs": "sqs:" + strings.TrimSuffix(operation, "Batch"), "eventbridge": "events:" + operation, "lambda": "lambda:" + operation, "cloudwatch": "cloudwatch:" + operation, "secretsmanager": "secretsmanager:" + operation}[service]
		if action == "lambda:Invoke" {
			action = "lambda:InvokeFunction"
		}
		if path == "github.com/aws/aws-sdk-go-v2/" && isInput && action != "" && w.found.actions[action] == "" {
			w.found.actions[action] = place
		}
	}
}
