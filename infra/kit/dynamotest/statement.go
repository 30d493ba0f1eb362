package dynamotest

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	maxStatements = 25   // of one BatchExecuteStatement
	maxStatement  = 8192 // bytes
)

// statement is a PartiQL statement, parsed once per text. Of PartiQL there is what the
// ledger says, in its spelling:
//
//	INSERT INTO "table" VALUE {'name': ?, …}
//	UPDATE "table" SET name = ?, … WHERE name = ? AND name IS MISSING …
type statement struct {
	insert  bool
	table   string
	fields  []string // what is inserted or set, each by a parameter
	where   []string // attributes that must equal a parameter
	missing []string // attributes that must not exist
}

var (
	insertForm     = regexp.MustCompile(`^INSERT INTO "([^"]+)" VALUE \{(.+)\}$`)
	updateForm     = regexp.MustCompile(`^UPDATE "([^"]+)" SET (.+) WHERE (.+)$`)
	fieldForm      = regexp.MustCompile(`^'(\w+)': \?$`)
	assignmentForm = regexp.MustCompile(`^([A-Za-z]\w*) = \?$`)
	missingForm    = regexp.MustCompile(`^([A-Za-z]\w*) IS MISSING$`)
)

// statements keeps every parsed statement by its text, as cache keeps expressions.
var statements sync.Map // string → parsedStatement

type parsedStatement struct {
	statement *statement
	err       error
}

func statementCached(text string) (*statement, error) {
	if hit, ok := statements.Load(text); ok {
		p := hit.(parsedStatement)
		return p.statement, p.err
	}
	s, err := parseStatement(text)
	statements.Store(text, parsedStatement{s, err})
	return s, err
}

func parseStatement(text string) (*statement, error) {
	s := &statement{}
	if m := insertForm.FindStringSubmatch(text); m != nil {
		s.insert, s.table = true, m[1]
		for _, one := range strings.Split(m[2], ", ") {
			if err := s.read(fieldForm, one, &s.fields); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	m := updateForm.FindStringSubmatch(text)
	if m == nil {
		return nil, unknownStatement(text)
	}
	s.table = m[1]
	for _, one := range strings.Split(m[2], ", ") {
		if err := s.read(assignmentForm, one, &s.fields); err != nil {
			return nil, err
		}
	}
	for _, one := range strings.Split(m[3], " AND ") {
		form, list := assignmentForm, &s.where
		if missingForm.MatchString(one) {
			form, list = missingForm, &s.missing
		}
		if err := s.read(form, one, list); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func unknownStatement(text string) error {
	return validation("Statement wasn't well formed, can't be processed: dynamotest does not know: %s", text)
}

// read reads one part of a statement, and adds the name in it to a list.
func (s *statement) read(form *regexp.Regexp, text string, list *[]string) error {
	m := form.FindStringSubmatch(text)
	if m == nil || form != fieldForm && reserved(m[1]) {
		return unknownStatement(text)
	}
	*list = append(*list, m[1])
	return nil
}

// boundStatement is a statement with its parameters, ready to run.
type boundStatement struct {
	insert bool
	write  *write
	// err is why this statement alone is refused, whatever the table holds.
	err error
}

func (db *DB) bindStatement(in types.BatchStatementRequest) *boundStatement {
	s, err := statementCached(*in.Statement)
	if err != nil {
		return &boundStatement{err: err}
	}
	out := &boundStatement{insert: s.insert}
	if out.write, out.err = db.statementWrite(s, in.Parameters); out.err == nil {
		out.write.oldItem = in.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return out
}

// statementWrite ties a statement to its table and its parameters.
func (db *DB) statementWrite(s *statement, parameters []types.AttributeValue) (*write, error) {
	t, err := db.tableNamed(&s.table)
	if err != nil {
		return nil, err
	}
	if len(parameters) != len(s.fields)+len(s.where) {
		return nil, validation("Number of parameters in request and statement don't match.")
	}
	w := &write{action: actionPut, table: t, scope: scope{values: make(item, len(parameters))}}
	for i, v := range parameters {
		if w.scope.values[parameter(i)], err = admit(v); err != nil {
			return nil, err
		}
	}
	if s.insert {
		return w, w.bindInsert(s)
	}
	w.action = actionUpdate
	return w, w.bindUpdate(s)
}

func parameter(n int) string { return ":p" + strconv.Itoa(n) }

func (w *write) bindInsert(s *statement) (err error) {
	w.item = make(item, len(s.fields))
	for i, name := range s.fields {
		if w.item[name] != nil {
			return validation("Statement wasn't well formed, can't be processed: %s is there twice", name)
		}
		w.item[name] = w.scope.values[parameter(i)]
	}
	if w.key, err = w.table.keyIn(w.item); err != nil {
		return err
	}
	if w.item.size() > maxItemSize {
		return validation("Item size has exceeded the maximum allowed size")
	}
	w.condition = &condition{op: "attribute_not_exists", left: operand{name: w.table.PK}}
	return nil
}

// bindUpdate finds the item that the statement names by equality on its whole
// key. What else WHERE says is the condition, and so is that the item exists:
// UPDATE never makes one.
func (w *write) bindUpdate(s *statement) (err error) {
	w.condition = &condition{op: "AND", parts: []*condition{{op: "attribute_exists", left: operand{name: w.table.PK}}}}
	key := item{}
	for i, name := range s.where {
		value := parameter(len(s.fields) + i)
		if w.table.isKey(name) {
			key[name] = w.scope.values[value]
			continue
		}
		w.condition.parts = append(w.condition.parts, &condition{op: "=", left: operand{name: name}, right: operand{value: value}})
	}
	if key[w.table.PK] == nil || w.table.SK != "" && key[w.table.SK] == nil {
		return validation("Where clause does not contain a mandatory equality on all key attributes")
	}
	if w.key, err = w.table.keyIn(key); err != nil {
		return err
	}
	for _, name := range s.missing {
		w.condition.parts = append(w.condition.parts, &condition{op: "attribute_not_exists", left: operand{name: name}})
	}
	for i, name := range s.fields {
		if w.table.isKey(name) {
			return cannotUpdate(name)
		}
		w.update = append(w.update, assignment{section: "SET", name: name, left: operand{value: parameter(i)}})
	}
	return invalid("statement", checkUpdate(w.update))
}

// BatchExecuteStatement is DynamoDB's BatchExecuteStatement for the statements
// that package dynamotest knows: each stands alone and has its own error in the
// answer, so some may be applied where others are refused.
func (db *DB) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	r, err := db.statementsRequest(in)
	return run[dynamodb.BatchExecuteStatementOutput](ctx, db, "BatchExecuteStatement", in, r, err)
}

func (db *DB) statementsRequest(in *dynamodb.BatchExecuteStatementInput) (request, error) {
	if n := len(in.Statements); n == 0 || n > maxStatements {
		return request{}, validation("Value at 'statements' failed to satisfy constraint: Member must have length between 1 and %d", maxStatements)
	}
	all := make([]*boundStatement, 0, len(in.Statements))
	keys := make([]string, 0, len(in.Statements))
	seen := map[key]bool{}
	for _, one := range in.Statements {
		if n := len(aws.ToString(one.Statement)); n == 0 || n > maxStatement {
			return request{}, validation("Value at 'statement' failed to satisfy constraint: Member must have length between 1 and %d", maxStatement)
		}
		s := db.bindStatement(one)
		all = append(all, s)
		if s.err != nil {
			keys = append(keys, "")
			continue
		}
		keys = append(keys, s.write.key.String())
		if seen[s.write.key] {
			return request{}, validation("Provided list of item keys contains duplicates")
		}
		seen[s.write.key] = true
	}
	return request{keys: keys, evaluate: func(m moment) (any, error) {
		out := &dynamodb.BatchExecuteStatementOutput{}
		for i, s := range all {
			out.Responses = append(out.Responses, db.execute(s, i, m))
		}
		return out, nil
	}}, nil
}

// execute runs one statement of a batch, which has that place in it. db.mu is
// held.
func (db *DB) execute(s *boundStatement, at int, m moment) types.BatchStatementResponse {
	if s.err != nil {
		return types.BatchStatementResponse{Error: statementError(s.err)}
	}
	w := s.write
	answer := types.BatchStatementResponse{TableName: aws.String(w.table.Name)}
	hit := m.fault.hits(at)
	if hit && m.fault.Kind == Throttle {
		answer.Error = errorWithCode(m.fault.throttleCode())
		return answer
	}
	old := w.table.current(w.key)
	if hit && m.fault.Kind == Conflict || db.busy(w.key, m.now) {
		answer.Error = errorWithCode(reasonConflict)
		db.bill(writeUnits(old, nil), 0)
		return answer
	}
	it, err := w.result(old)
	db.bill(writeUnits(old, it), 0)
	switch {
	case err == nil:
		db.store(w, it, m.now)
	case s.insert:
		answer.Error = &types.BatchStatementError{
			Code: types.BatchStatementErrorCodeEnumDuplicateItem, Message: aws.String("Duplicate primary key exists in table"),
		}
	default:
		answer.Error = statementError(err)
	}
	return answer
}

func errorWithCode(code string) *types.BatchStatementError {
	return &types.BatchStatementError{Code: types.BatchStatementErrorCodeEnum(code), Message: reason(code).Message}
}

// statementError is the error of one statement, made out of the exception that
// the same refusal is elsewhere.
func statementError(err error) *types.BatchStatementError {
	var (
		failed  *types.ConditionalCheckFailedException
		unknown *types.ResourceNotFoundException
	)
	switch {
	case errors.As(err, &failed):
		out := errorWithCode(reasonCondition)
		out.Item = failed.Item
		return out
	case errors.As(err, &unknown):
		return &types.BatchStatementError{Code: types.BatchStatementErrorCodeEnumResourceNotFound, Message: unknown.Message}
	}
	out := errorWithCode(reasonValidation)
	if message, ok := validationMessage(err); ok {
		out.Message = aws.String(message)
	}
	return out
}
