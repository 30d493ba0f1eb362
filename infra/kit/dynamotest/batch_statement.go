package dynamotest

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxStatements is the most statements of one BatchExecuteStatement.
const maxStatements = 25

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
	seen := map[place]bool{}
	reads, writes := false, false
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
		reads, writes = reads || s.verb == verbSelect, writes || s.verb != verbSelect
		if seen[s.write.place()] {
			return request{}, validation("Provided list of item keys contains duplicates")
		}
		seen[s.write.place()] = true
	}
	if reads && writes {
		return request{}, validation("Read and write requests together in the same batch is not supported.")
	}
	asked := in.ReturnConsumedCapacity
	return request{keys: keys, evaluate: func(m moment) (any, error) {
		out := &dynamodb.BatchExecuteStatementOutput{}
		for i, s := range all {
			answer, used := db.execute(s, i, asked, m)
			out.Responses = append(out.Responses, answer)
			if used != nil {
				out.ConsumedCapacity = append(out.ConsumedCapacity, *used)
			}
		}
		return out, nil
	}}, nil
}

// execute runs one statement of a batch, which has that place in it. db.mu is
// held.
func (db *DB) execute(s *boundStatement, at int, asked types.ReturnConsumedCapacity, m moment) (types.BatchStatementResponse, *types.ConsumedCapacity) {
	if s.err != nil {
		return types.BatchStatementResponse{Error: statementError(s.err)}, nil
	}
	w := s.write
	answer := types.BatchStatementResponse{TableName: aws.String(w.table.Name)}
	hit := m.fault.hits(at)
	if hit && m.fault.Kind == Throttle {
		answer.Error = errorWithCode(m.fault.throttleCode())
		return answer, nil
	}
	if s.verb == verbSelect {
		it := w.table.get(w.key, db.view(m, s.consistent))
		used := db.bill(w.table.Name, asked, 0, readUnits(it.size(), s.consistent))
		if s.projection != nil {
			it = it.picked(s.projection)
		}
		answer.Item = it.copied()
		return answer, used
	}
	old := w.table.current(w.key)
	if hit && m.fault.Kind == Conflict || db.busy(w.place(), m.now) {
		answer.Error = errorWithCode(reasonConflict)
		return answer, db.bill(w.table.Name, asked, writeUnits(old, nil), 0)
	}
	it, err := w.result(old)
	used := db.bill(w.table.Name, asked, writeUnits(old, it), 0)
	switch {
	case err == nil:
		db.store(w, it, m.now)
	case s.verb == verbInsert:
		answer.Error = &types.BatchStatementError{
			Code: types.BatchStatementErrorCodeEnumDuplicateItem, Message: aws.String("Duplicate primary key exists in table"),
		}
	default:
		answer.Error = statementError(err)
	}
	return answer, used
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
