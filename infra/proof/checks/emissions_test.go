package checks

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"
)

const telemetryPackage = module + "/shared/telemetry"

// emission is how the code emits one metric.
type emission struct {
	dimension string          // besides the service; "" for none
	values    map[string]bool // that the dimension can take
}

// telemetry records a call that names the service or emits a metric. Calls within
// package telemetry itself only pass on their arguments.
func (w *walk) telemetry(call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || strings.HasPrefix(w.position(call.Pos()), "shared/telemetry/") {
		return
	}
	fn, ok := w.info.Uses[sel.Sel].(*types.Func)
	if !ok {
		return
	}
	switch fn.FullName() {
	case telemetryPackage + ".New":
		w.found.service = w.constant(call.Args[1])
	case "(*" + telemetryPackage + ".Event).Metric":
		w.found.metrics[w.constant(call.Args[0])] = emission{}
	case "(*" + telemetryPackage + ".Event).CountBy":
		w.found.metrics[w.constant(call.Args[0])] = emission{w.constant(call.Args[1]), w.spellings(call.Args[2])}
	}
}

// constant returns the text of a constant expression.
func (w *walk) constant(e ast.Expr) string {
	v := w.info.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		w.t.Errorf("%s: names a metric, or a dimension, by what is not a constant", w.position(e.Pos()))
		return ""
	}
	return constant.StringVal(v)
}

// spellings returns the possible texts of an expression: its own, the literals of the
// called function, and every code of package sale, which such a function converts to
// text.
func (w *walk) spellings(e ast.Expr) map[string]bool {
	all := map[string]bool{}
	if v := w.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		all[constant.StringVal(v)] = true
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return all
	}
	callee, ok := call.Fun.(*ast.Ident)
	if sel, selects := call.Fun.(*ast.SelectorExpr); selects {
		callee, ok = sel.Sel, true
	}
	if !ok {
		return all
	}
	if fn, known := w.info.Uses[callee].(*types.Func); known && w.bodies[fn] != nil {
		ast.Inspect(w.bodies[fn], func(n ast.Node) bool {
			if r, returns := n.(*ast.ReturnStmt); returns {
				for _, result := range r.Results {
					if v := w.info.Types[result].Value; v != nil && v.Kind() == constant.String {
						all[constant.StringVal(v)] = true
					}
				}
			}
			return true
		})
	}
	scope := w.packages[module+"/shared/sale"].Scope()
	for _, name := range scope.Names() {
		if c, isConst := scope.Lookup(name).(*types.Const); isConst && types.Identical(c.Type(), scope.Lookup("Code").Type()) {
			all[constant.StringVal(c.Val())] = true
		}
	}
	return all
}
