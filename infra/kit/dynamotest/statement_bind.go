package dynamotest

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// boundStatement is a statement with its parameters, ready to run. A SELECT is
// a write that is never stored: it has only the place.
type boundStatement struct {
	verb       verb
	write      *write
	projection []path
	consistent bool
	// err is why this statement alone is refused, whatever the table holds.
	err error
}

func (db *DB) bindStatement(in types.BatchStatementRequest) *boundStatement {
	s, err := statementCached(*in.Statement)
	if err != nil {
		return &boundStatement{err: malformed(err)}
	}
	out := &boundStatement{verb: s.verb, consistent: aws.ToBool(in.ConsistentRead)}
	out.write, out.err = db.statementWrite(s, in.Parameters)
	if out.err != nil {
		return out
	}
	out.write.oldItem = in.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld
	for _, p := range s.projection {
		out.projection = append(out.projection, out.write.scope.resolve(p))
	}
	if err := checkPaths(out.projection); err != nil {
		out.err = malformed(err)
	}
	return out
}

// malformed makes a ValidationException of what is wrong with a statement's
// text.
func malformed(err error) error {
	var syntax syntaxError
	if errors.As(err, &syntax) {
		return validation("Statement wasn't well formed, can't be processed: %s", string(syntax))
	}
	return err
}

// statementWrite ties a statement to its table and its parameters.
func (db *DB) statementWrite(s *statement, parameters []types.AttributeValue) (*write, error) {
	t, err := db.tableNamed(&s.table)
	if err != nil {
		return nil, err
	}
	if len(parameters) != s.parameters {
		return nil, validation("Number of parameters in request and statement don't match.")
	}
	w := &write{action: actionPut, table: t, scope: scope{names: s.names, values: make(item, len(parameters)+len(s.literals))}}
	for name, v := range s.literals {
		w.scope.values[name] = v
	}
	for i, v := range parameters {
		if w.scope.values[parameter(i)], err = admit(v, 1); err != nil {
			return nil, err
		}
	}
	if s.verb == verbInsert {
		return w, w.bindInsert(s)
	}
	w.action = actionUpdate
	return w, w.bindWhere(s)
}

func (w *write) bindInsert(s *statement) (err error) {
	w.item = make(item, len(s.fields))
	for _, f := range s.fields {
		w.item[f.target[0].name] = w.scope.values[f.left.value]
	}
	if w.key, err = w.table.keyIn(w.item); err != nil {
		return err
	}
	if w.item.size() > maxItemSize {
		return validation("Item size has exceeded the maximum allowed size")
	}
	w.condition = w.exists("attribute_not_exists")
	return nil
}

// exists is a condition on the item as a whole: its key stands for it.
func (w *write) exists(function string) condition {
	return test{function, []operand{{path: path{{name: w.table.PK}}}}}
}

// bindWhere finds the item that the statement names by equality on its whole
// key. What else WHERE says is the condition, and so is that the item exists:
// UPDATE never makes one.
func (w *write) bindWhere(s *statement) (err error) {
	where := slices.Clone(s.where)
	attributes := item{}
	for _, name := range []string{w.table.PK, w.table.SK} {
		at := slices.IndexFunc(where, func(c condition) bool { return name != "" && w.names(c, name) })
		if at >= 0 {
			attributes[name] = w.scope.values[where[at].(comparison).operands[1].value]
			where = slices.Delete(where, at, at+1)
		} else if name != "" {
			return validation("Where clause does not contain a mandatory equality on all key attributes")
		}
	}
	if w.key, err = w.table.keyIn(attributes); err != nil {
		return err
	}
	if s.verb == verbSelect && len(where) > 0 {
		return validation("dynamotest knows SELECT by the key alone")
	}
	w.condition = w.exists("attribute_exists")
	for _, c := range where {
		if err := w.scope.checkCondition(c); err != nil {
			return malformed(err)
		}
		w.condition = logical{"AND", w.condition, c}
	}
	if s.verb == verbUpdate {
		return w.bindSet(s.update)
	}
	return nil
}

func (w *write) bindSet(u *update) error {
	w.update = w.scope.resolveUpdate(u)
	for _, target := range w.update.targets() {
		if w.table.isKey(target[0].name) {
			return validation("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", target[0].name)
		}
	}
	for _, err := range []error{checkPaths(w.update.targets()), w.scope.checkUpdate(w.update)} {
		if err != nil {
			return malformed(err)
		}
	}
	return nil
}

// names reports whether a condition is an equality of that key attribute with
// a value.
func (w *write) names(c condition, attribute string) bool {
	equality, ok := c.(comparison)
	if !ok || equality.op != "=" || len(equality.operands[0].path) != 1 {
		return false
	}
	return w.scope.name(equality.operands[0].path[0].name) == attribute && equality.operands[1].value != ""
}
