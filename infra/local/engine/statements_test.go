package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/local/engine/enginetest"
)

type executor interface {
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

func say(text string, parameters ...string) types.BatchStatementRequest {
	s := types.BatchStatementRequest{Statement: &text}
	for _, p := range parameters {
		s.Parameters = append(s.Parameters, &types.AttributeValueMemberS{Value: p})
	}
	return s
}

// The fake returns the items of failed conditions and checks the number of a statement's
// parameters, which the engine does not; the engine knows more of PartiQL. Otherwise the two
// must agree.
func TestTheEngineAndTheFakeAgreeOnStatements(t *testing.T) {
	const (
		insert = `INSERT INTO "ledger" VALUE {'pk': ?, 'sk': ?, 'user': ?}`
		update = `UPDATE "ledger" SET orderId = ? WHERE pk = ? AND sk = ? AND claimId = ? AND orderId IS MISSING`
	)
	steps := []struct {
		name  string
		batch []types.BatchStatementRequest
	}{
		{"inserts", []types.BatchStatementRequest{say(insert, "a", "1", "u"), say(insert, "a", "2", "u")}},
		{"an insert over an item", []types.BatchStatementRequest{say(insert, "a", "1", "other"), say(insert, "a", "3", "u")}},
		{"a condition on a missing attribute", []types.BatchStatementRequest{say(update, "7", "a", "1", "c")}},
		{"an update of no item", []types.BatchStatementRequest{say(`UPDATE "ledger" SET x = ? WHERE pk = ? AND sk = ?`, "1", "a", "none")}},
		{"an update", []types.BatchStatementRequest{say(`UPDATE "ledger" SET claimId = ?, n = ? WHERE pk = ? AND sk = ?`, "c", "5", "a", "1")}},
		{"a condition that holds, and one that does not", []types.BatchStatementRequest{say(update, "7", "a", "1", "c"), say(update, "7", "a", "2", "c")}},
		{"the same again", []types.BatchStatementRequest{say(update, "8", "a", "1", "c")}},
		{"one malformed among others", []types.BatchStatementRequest{say(`UPDAT "ledger"`), say(insert, "a", "4", "u")}},
		{"no sort key", []types.BatchStatementRequest{say(`UPDATE "ledger" SET x = ? WHERE pk = ?`, "1", "a")}},
		{"another table", []types.BatchStatementRequest{say(`UPDATE "other" SET x = ? WHERE pk = ? AND sk = ?`, "1", "a", "1")}},
		{"a key that is missing", []types.BatchStatementRequest{say(`INSERT INTO "ledger" VALUE {'pk': ?}`, "a")}},
		{"one item twice", []types.BatchStatementRequest{say(insert, "a", "5", "u"), say(insert, "a", "5", "u")}},
	}
	local := enginetest.Client(t, "ledger")
	fake := dynamotest.New(dynamotest.Table{Name: "ledger", PK: "pk", SK: "sk"})
	for _, step := range steps {
		if diff := cmp.Diff(answers(t, local, step.batch), answers(t, fake, step.batch)); diff != "" {
			t.Errorf("%s (-engine +fake):\n%s", step.name, diff)
		}
	}
	for _, sk := range []string{"1", "2", "3", "4", "5", "none"} {
		if diff := cmp.Diff(stored(t, local, sk), stored(t, fake, sk)); diff != "" {
			t.Errorf("item %s (-engine +fake):\n%s", sk, diff)
		}
	}
}

// answers are the codes of the statements and the items that they read, or the
// code of the whole batch.
func answers(t *testing.T, db executor, batch []types.BatchStatementRequest) (all []any) {
	t.Helper()
	out, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: batch})
	if err != nil {
		return []any{codeOf(t, err)}
	}
	for _, r := range out.Responses {
		if r.Error != nil {
			all = append(all, string(r.Error.Code))
			continue
		}
		all = append(all, texts(r.Item))
	}
	return all
}

func stored(t *testing.T, db executor, sk string) map[string]string {
	t.Helper()
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String("ledger"), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}, "sk": &types.AttributeValueMemberS{Value: sk}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts(out.Item)
}

func texts(it map[string]types.AttributeValue) map[string]string {
	out := map[string]string{}
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			out[name] = "S " + v.Value
		case *types.AttributeValueMemberN:
			out[name] = "N " + v.Value
		}
	}
	return out
}

func codeOf(t *testing.T, err error) string {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Fatalf("%v is no answer", err)
	}
	return api.ErrorCode()
}
