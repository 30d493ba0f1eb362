package dynamotest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	insertText  = `INSERT INTO "sales" VALUE {'pk': ?, 'sk': ?, 'user': ?}`
	confirmText = `UPDATE "sales" SET orderId = ? WHERE pk = ? AND sk = ? AND claimId = ? AND orderId IS MISSING`
)

func said(text string, parameters ...types.AttributeValue) types.BatchStatementRequest {
	return types.BatchStatementRequest{
		Statement: aws.String(text), Parameters: parameters,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

func confirm(user, claim, order string) types.BatchStatementRequest {
	return said(confirmText, num(order), str("CLAIM"), str(user), str(claim))
}

func insert(sk string) types.BatchStatementRequest {
	return said(insertText, str("ORDER"), str(sk), str("alice"))
}

func batch(t *testing.T, db *DB, all ...types.BatchStatementRequest) (*dynamodb.BatchExecuteStatementOutput, error) {
	t.Helper()
	return db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{
		Statements: all, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
}

// answers returns the codes of a batch's statements, "ok" for none.
func answers(t *testing.T, db *DB, all ...types.BatchStatementRequest) string {
	t.Helper()
	out, err := batch(t, db, all...)
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

func claimed(t *testing.T, users ...string) *DB {
	t.Helper()
	db := newDB()
	for _, user := range users {
		mustPut(t, db, "CLAIM", user, attributes{"claimId": str("c-" + user), "n": num("5")})
	}
	return db
}

func TestStatementsOfABatchSucceedAndFailOneByOne(t *testing.T) {
	db := claimed(t, "alice", "bob")
	got := answers(t, db, confirm("alice", "c-alice", "1"), confirm("bob", "other", "2"), confirm("nobody", "c", "3"))
	if got != "ok ConditionalCheckFailed ConditionalCheckFailed" {
		t.Errorf("got %s", got)
	}
	wantItem(t, look(t, db, "CLAIM", "alice"), `{claimId: "c-alice", n: 5, orderId: 1, pk: "CLAIM", sk: "alice"}`)
	wantItem(t, look(t, db, "CLAIM", "bob"), `{claimId: "c-bob", n: 5, pk: "CLAIM", sk: "bob"}`)
	wantItem(t, look(t, db, "CLAIM", "nobody"), "none")
}

func TestAFailedConditionReturnsTheItemWhereAsked(t *testing.T) {
	db := claimed(t, "alice")
	out, err := batch(t, db, confirm("alice", "other", "1"))
	if err != nil {
		t.Fatal(err)
	}
	wantItem(t, out.Responses[0].Error.Item, `{claimId: "c-alice", n: 5, pk: "CLAIM", sk: "alice"}`)
	silent := confirm("alice", "other", "1")
	silent.ReturnValuesOnConditionCheckFailure = ""
	if out, err = batch(t, db, silent); err != nil || out.Responses[0].Error.Item != nil {
		t.Errorf("got %v (%v), want no item", out.Responses[0].Error.Item, err)
	}
}

func TestAnInsertedItemIsNeverReplaced(t *testing.T) {
	db := newDB()
	if got := answers(t, db, insert("1"), insert("2")); got != "ok ok" {
		t.Errorf("got %s", got)
	}
	if got := answers(t, db, said(insertText, str("ORDER"), str("1"), str("bob")), insert("3")); got != "DuplicateItem ok" {
		t.Errorf("got %s", got)
	}
	wantItem(t, look(t, db, "ORDER", "1"), `{pk: "ORDER", sk: "1", user: "alice"}`)
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
		db := claimed(t, "alice", "bob")
		before := db.Dump()
		if got := answers(t, db, said(tt.text, tt.parameters...)); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if db.Dump() != before {
			t.Errorf("%s: something was written", name)
		}
		if got := answers(t, db, said(tt.text, tt.parameters...), confirm("bob", "c-bob", "1")); got != tt.want+" ok" {
			t.Errorf("%s: got %s, want the other statement applied", name, got)
		}
	}
}

func TestAnUpdateMaySetSeveralAttributes(t *testing.T) {
	db := claimed(t, "alice")
	if got := answers(t, db, said(`UPDATE "sales" SET n = ?, x = ? WHERE sk = ? AND pk = ?`, num("2"), str("it's"), str("alice"), str("CLAIM"))); got != "ok" {
		t.Errorf("got %s", got)
	}
	wantItem(t, look(t, db, "CLAIM", "alice"), `{claimId: "c-alice", n: 2, pk: "CLAIM", sk: "alice", x: "it's"}`)
}

func TestBatchesThatAreRefusedAsAWhole(t *testing.T) {
	var many []types.BatchStatementRequest
	for i := range 26 {
		many = append(many, insert(fmt.Sprint(i)))
	}
	for name, all := range map[string][]types.BatchStatementRequest{
		"none":                   nil,
		"26 statements":          many,
		"one item twice":         {insert("1"), insert("2"), insert("1")},
		"an empty text":          {insert("1"), said("")},
		"a text of 8193 letters": {insert("1"), said(strings.Repeat("x", 8193))},
	} {
		db := claimed(t, "alice")
		before := db.Dump()
		_, err := batch(t, db, all...)
		wantCode(t, err, "ValidationException")
		if db.Dump() != before {
			t.Errorf("%s: something was applied", name)
		}
	}
	if got := answers(t, newDB(), many[:25]...); got != strings.TrimSpace(strings.Repeat("ok ", 25)) {
		t.Errorf("25 statements: got %s", got)
	}
}

func TestEveryStatementCostsAsItsOwnWrite(t *testing.T) {
	db := claimed(t, "alice")
	db.ResetUsage()
	out, err := batch(t, db, confirm("alice", "other", "1"), said(insertText, str("ORDER"), str("1"), str(strings.Repeat("x", 2000))))
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := db.Consumed(); w != 3 || len(out.ConsumedCapacity) != 2 || *out.ConsumedCapacity[1].CapacityUnits != 2 {
		t.Errorf("%v units and %+v, want 1 for the failed condition and 2 for 2 KB", w, out.ConsumedCapacity)
	}
}
