package dynamotest

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func said(text string, parameters ...types.AttributeValue) types.BatchStatementRequest {
	return types.BatchStatementRequest{Statement: &text, Parameters: parameters}
}

const insertText = `INSERT INTO "sales" VALUE {'pk': ?, 'sk': ?, 'user': ?}`

func insert(sk string) types.BatchStatementRequest {
	return said(insertText, str("ORDER"), str(sk), str("alice"))
}

// answers returns the codes of a batch's statements, "ok" for none.
func answers(t *testing.T, db *DB, all ...types.BatchStatementRequest) string {
	t.Helper()
	out, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: all})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, r := range out.Responses {
		if r.Error == nil {
			codes = append(codes, "ok")
		} else {
			codes = append(codes, string(r.Error.Code))
		}
	}
	return strings.Join(codes, " ")
}

func TestStatementsThatAreRefusedAlone(t *testing.T) {
	const whole = ` WHERE pk = ? AND sk = ?`
	alice := []types.AttributeValue{str("CLAIM"), str("alice")}
	set := func(v ...types.AttributeValue) []types.AttributeValue { return append(v, alice...) }
	for name, tt := range map[string]struct {
		text       string
		parameters []types.AttributeValue
		want       string
	}{
		"an unknown table":                {`UPDATE "other" SET a = ?` + whole, set(num("1")), "ResourceNotFound"},
		"no sort key":                     {`UPDATE "sales" SET a = ? WHERE pk = ?`, []types.AttributeValue{num("1"), str("CLAIM")}, "ValidationError"},
		"no WHERE":                        {`UPDATE "sales" SET a = ?`, []types.AttributeValue{num("1")}, "ValidationError"},
		"a number as key":                 {`UPDATE "sales" SET a = ?` + whole, []types.AttributeValue{num("1"), str("CLAIM"), num("1")}, "ValidationError"},
		"a part of the key set":           {`UPDATE "sales" SET sk = ?` + whole, set(str("x")), "ValidationError"},
		"an attribute set twice":          {`UPDATE "sales" SET a = ?, a = ?` + whole, set(num("1"), num("2")), "ValidationError"},
		"one parameter too few":           {`UPDATE "sales" SET a = ?` + whole, alice, "ValidationError"},
		"a reserved word":                 {`UPDATE "sales" SET user = ?` + whole, set(str("x")), "ValidationError"},
		"an insert without key":           {`INSERT INTO "sales" VALUE {'pk': ?}`, []types.AttributeValue{str("p")}, "ValidationError"},
		"an attribute inserted twice":     {`INSERT INTO "sales" VALUE {'pk': ?, 'sk': ?, 'sk': ?}`, set(str("p")), "ValidationError"},
		"a literal, which is not known":   {`UPDATE "sales" SET a = 1` + whole, alice, "ValidationError"},
		"an order, which is not known":    {`UPDATE "sales" SET a = ?` + whole + ` AND n < ?`, append(set(num("1")), num("9")), "ValidationError"},
		"an OR, which is not known":       {`UPDATE "sales" SET a = ?` + whole + ` OR n = ?`, append(set(num("1")), num("5")), "ValidationError"},
		"a deletion, which is not known":  {`DELETE FROM "sales"` + whole, alice, "ValidationError"},
		"a selection, which is not known": {`SELECT * FROM "sales"` + whole, alice, "ValidationError"},
		"no statement at all":             {`sales`, nil, "ValidationError"},
	} {
		db := newDB()
		mustPut(t, db, "CLAIM", "alice", attributes{"n": num("5")})
		before := db.Dump()
		if got := answers(t, db, said(tt.text, tt.parameters...)); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if db.Dump() != before {
			t.Errorf("%s: something was written", name)
		}
		if got := answers(t, db, said(tt.text, tt.parameters...), insert("1")); got != tt.want+" ok" {
			t.Errorf("%s: got %s, want the other statement applied", name, got)
		}
	}
}
