package dynamotest

import (
	"cmp"
	"context"
	"fmt"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxStatements is the most statements of one BatchExecuteStatement.
const maxStatements = 25

// Of PartiQL there is what the ledger says, in its spelling:
//
//	INSERT INTO "table" VALUE {'name': ?, …}
//	UPDATE "table" SET name = ? WHERE name = ? AND name IS MISSING …
var (
	insertForm = regexp.MustCompile(`^INSERT INTO "([^"]+)" VALUE \{('\w+': \?(?:, '\w+': \?)*)\}$`)
	fieldForm  = regexp.MustCompile(`'(\w+)'`)
	updateForm = regexp.MustCompile(`^UPDATE "([^"]+)" (SET \w+ = \?) WHERE (` + termForm + `(?: AND ` + termForm + `)*)$`)

	missingForm   = regexp.MustCompile(`(\w+) IS MISSING`)
	parameterForm = regexp.MustCompile(`\?`)
)

const termForm = `\w+ (?:= \?|IS MISSING)`

// statement is a PartiQL statement as the same write of a single item.
type statement struct {
	insert        bool
	table         string
	update, where string   // expressions of an UPDATE
	parameters    []string // an INSERT's attributes, or an UPDATE's placeholders
}

// parseStatement reads a statement; it returns nil for one that it does not know.
func parseStatement(text string) *statement {
	if m := insertForm.FindStringSubmatch(text); m != nil {
		s := &statement{insert: true, table: m[1]}
		for _, field := range fieldForm.FindAllStringSubmatch(m[2], -1) {
			s.parameters = append(s.parameters, field[1])
		}
		return s
	}
	m := updateForm.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	s := &statement{table: m[1]}
	numbered := func(text string) string {
		return parameterForm.ReplaceAllStringFunc(text, func(string) string {
			s.parameters = append(s.parameters, fmt.Sprint(":p", len(s.parameters)))
			return s.parameters[len(s.parameters)-1]
		})
	}
	s.update, s.where = numbered(m[2]), numbered(missingForm.ReplaceAllString(m[3], "attribute_not_exists($1)"))
	return s
}

// statementWrite is the write that a statement asks for.
func (db *DB) statementWrite(in types.BatchStatementRequest) (_ *write, err error) {
	s := parseStatement(aws.ToString(in.Statement))
	switch {
	case s == nil:
		return nil, validation("Statement wasn't well formed, can't be processed: dynamotest does not know: %s", aws.ToString(in.Statement))
	case len(in.Parameters) != len(s.parameters):
		return nil, validation("Number of parameters in request and statement don't match.")
	}
	given := item{}
	for i, name := range s.parameters {
		given[name] = in.Parameters[i]
	}
	input := writeInput{action: actionPut, table: &s.table, key: given, onFailure: in.ReturnValuesOnConditionCheckFailure}
	if s.insert {
		input.condition = aws.String("attribute_not_exists(" + db.table.PK + ")")
	} else {
		// That the item has this key is a term of its condition, so UPDATE never makes one.
		input.action, input.update, input.condition, input.values = actionUpdate, &s.update, &s.where, given
		if input.key, err = db.keyAmong(s.where, given); err != nil {
			return nil, err
		}
	}
	return db.newWrite(input)
}

// keyAmong is the key of the item that WHERE names by equality on all of its attributes.
func (db *DB) keyAmong(where string, values item) (item, error) {
	parsed, err := parse(conditionExpression, &where)
	if err != nil {
		return nil, err
	}
	found := item{}
	for _, term := range parsed.condition.terms() {
		if term.op == "=" && db.table.isKey(term.left.name) {
			found[term.left.name] = values[term.right.value]
		}
	}
	return found, nil
}

// BatchExecuteStatement is DynamoDB's BatchExecuteStatement for the statements
// that package dynamotest knows: each stands alone and has its own error in the
// answer, so some may be applied where others are refused.
func (db *DB) BatchExecuteStatement(ctx context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error) {
	r, err := db.statementsRequest(in)
	return run[dynamodb.BatchExecuteStatementOutput](ctx, db, "BatchExecuteStatement", in, r, err)
}

// boundStatement is a statement with its parameters, ready to run.
type boundStatement struct {
	*write
	err error // why this statement alone is refused, whatever the table holds
}

func (db *DB) statementsRequest(in *dynamodb.BatchExecuteStatementInput) (request, error) {
	if n := len(in.Statements); n == 0 || n > maxStatements {
		return request{}, validation("Value at 'statements' failed to satisfy constraint: Member must have length between 1 and %d", maxStatements)
	}
	all, keys := make([]boundStatement, len(in.Statements)), make([]string, len(in.Statements))
	seen := map[key]bool{}
	for i, one := range in.Statements {
		s := &all[i]
		if s.write, s.err = db.statementWrite(one); s.err != nil {
			continue
		}
		if seen[s.key] {
			return request{}, validation("Provided list of item keys contains duplicates")
		}
		keys[i], seen[s.key] = s.key.String(), true
	}
	return request{keys: keys, evaluate: func(m moment) (any, error) {
		out := &dynamodb.BatchExecuteStatementOutput{}
		for i, s := range all {
			answer := types.BatchStatementResponse{TableName: &db.table.Name}
			if told := db.execute(s, m, m.fault.hits(i)); *told.Code != reasonNone {
				answer.Error = &types.BatchStatementError{
					Code: types.BatchStatementErrorCodeEnum(*told.Code), Message: told.Message, Item: told.Item,
				}
			}
			out.Responses = append(out.Responses, answer)
		}
		return out, nil
	}}, nil
}

// execute runs one statement of a batch, whether or not the fault hits it, and tells what
// became of it, as of an action of a transaction. db.mu is held.
func (db *DB) execute(s boundStatement, m moment, hit bool) types.CancellationReason {
	switch {
	case s.err != nil:
		return reasonOf(s.err)
	case hit && m.fault.Kind == Throttle:
		return reason(cmp.Or(m.fault.Code, reasonThrottling))
	}
	it, _, err := db.attempt(s.write, hit && m.fault.Kind == Conflict || db.busy(s.key, m.now), 1)
	if err == nil {
		db.store(s.write, it, m.now)
	}
	told := reasonOf(err)
	if s.action == actionPut && *told.Code == reasonCondition {
		told = reason(reasonDuplicate)
	}
	return told
}
