package dynamotest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	insertText  = `INSERT INTO "sales" VALUE {'pk':?, 'sk':?, 'user':?}`
	confirmText = `UPDATE "sales" SET orderId=? WHERE pk=? AND sk=? AND claimId=? AND orderId IS MISSING`
	selectText  = `SELECT * FROM "sales" WHERE pk=? AND sk=?`
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

func TestConditionsOfStatements(t *testing.T) {
	for condition, want := range map[string]string{
		`n = 5`:                                "ok",
		`n <> 5`:                               "ConditionalCheckFailed",
		`n < 6 AND n <= 5 AND n > 4 AND n>=5`:  "ok",
		`claimId = 'c-alice'`:                  "ok",
		`claimId = 'it''s'`:                    "ConditionalCheckFailed",
		`"claimId" IS NOT MISSING`:             "ok",
		`claimId is missing`:                   "ConditionalCheckFailed",
		`attribute_not_exists(x)`:              "ok",
		`attribute_exists(x)`:                  "ConditionalCheckFailed",
		`NOT (x IS NOT MISSING OR n = 6)`:      "ok",
		`(n = 6 OR (x IS MISSING AND n = 5))`:  "ok",
		`n = 6 OR n = 7`:                       "ValidationError", // then the key is not a separate condition
		`n = ?`:                                "ValidationError", // one parameter too few
		`user = 'alice'`:                       "ValidationError", // a reserved word
		`"user" IS MISSING`:                    "ok",
		`n = 5 n`:                              "ValidationError",
		`n IS 5`:                               "ValidationError",
		`n`:                                    "ValidationError",
		`x = 'unterminated`:                    "ValidationError",
		`pk = 'CLAIM'`:                         "ok", // once more, as a condition
		`sk = 'bob'`:                           "ConditionalCheckFailed",
		`n BETWEEN 'a' AND 5`:                  "ValidationError",
		`begins_with(claimId, 'c-')`:           "ok",
		`size(claimId) = 7`:                    "ok",
		`"" = 5`:                               "ValidationError",
		`n = 5; DROP TABLE "sales"`:            "ValidationError",
		`n = 1.5.2`:                            "ValidationError",
		`exists(SELECT * FROM "sales")`:        "ValidationError",
		strings.Repeat("(", 200) + "n = 5":     "ValidationError",
		`n = 5 AND EXISTS`:                     "ValidationError",
		`claimId IN ('x', 'c-alice') AND n<10`: "ok",
	} {
		db := claimed(t, "alice")
		if got := answers(t, db, said(`UPDATE "sales" SET done=? WHERE pk='CLAIM' AND sk='alice' AND `+condition, num("1"))); got != want {
			t.Errorf("%s: got %s, want %s", condition, got, want)
		}
	}
}

func TestStatementsThatAreRefusedAlone(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"an unknown table":                {`UPDATE "other" SET a=1 WHERE pk='p' AND sk='s'`, "ResourceNotFound"},
		"no sort key":                     {`UPDATE "sales" SET a=1 WHERE pk='p'`, "ValidationError"},
		"a key inside an OR":              {`UPDATE "sales" SET a=1 WHERE pk='p' AND (sk='s' OR a=1)`, "ValidationError"},
		"no WHERE":                        {`UPDATE "sales" SET a=1`, "ValidationError"},
		"a number as key":                 {`UPDATE "sales" SET a=1 WHERE pk='p' AND sk=1`, "ValidationError"},
		"a part of the key set":           {`UPDATE "sales" SET sk='x' WHERE pk='CLAIM' AND sk='alice'`, "ValidationError"},
		"an attribute set twice":          {`UPDATE "sales" SET a=1, a=2 WHERE pk='CLAIM' AND sk='alice'`, "ValidationError"},
		"a second SET":                    {`UPDATE "sales" SET a=1 SET b=2 WHERE pk='CLAIM' AND sk='alice'`, "ValidationError"},
		"a sum with a missing attribute":  {`UPDATE "sales" SET a=b+1 WHERE pk='CLAIM' AND sk='alice'`, "ValidationError"},
		"an insert without key":           {`INSERT INTO "sales" VALUE {'pk':'p'}`, "ValidationError"},
		"an attribute inserted twice":     {`INSERT INTO "sales" VALUE {'pk':'p', 'sk':'s', 'sk':'t'}`, "ValidationError"},
		"an insert of an attribute":       {`INSERT INTO "sales" VALUE {'pk':'p', 'sk':claimId}`, "ValidationError"},
		"a deletion, which is not known":  {`DELETE FROM "sales" WHERE pk='CLAIM' AND sk='alice'`, "ValidationError"},
		"no statement at all":             {`sales`, "ValidationError"},
		"a select with another condition": {`SELECT * FROM "sales" WHERE pk='p' AND sk='s' AND a=1`, "ValidationError"},
	} {
		db := claimed(t, "alice", "bob")
		before := db.Dump()
		if got := answers(t, db, said(tt.text)); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if db.Dump() != before {
			t.Errorf("%s: something was written", name)
		}
		if got := answers(t, db, said(tt.text), confirm("bob", "c-bob", "1")); got != tt.want+" ok" {
			t.Errorf("%s: got %s, want the other statement applied", name, got)
		}
	}
}

func TestUpdatesComputeAndSetSeveralAttributes(t *testing.T) {
	db := claimed(t, "alice")
	if got := answers(t, db, said(`update sales set n = n - ?, "x y" = 'it''s' where pk = ? and sk = ?`, num("2"), str("CLAIM"), str("alice"))); got != "ok" {
		t.Errorf("got %s", got)
	}
	wantItem(t, look(t, db, "CLAIM", "alice"), `{claimId: "c-alice", n: 3, pk: "CLAIM", sk: "alice", x y: "it's"}`)
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
		"a read and a write":     {said(selectText, str("CLAIM"), str("alice")), insert("1")},
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

func TestSelectsReadWholeItemsOrSomeAttributes(t *testing.T) {
	db := claimed(t, "alice")
	out, err := batch(t, db, said(selectText, str("CLAIM"), str("alice")), said(selectText, str("CLAIM"), str("nobody")))
	if err != nil {
		t.Fatal(err)
	}
	wantItem(t, out.Responses[0].Item, `{claimId: "c-alice", n: 5, pk: "CLAIM", sk: "alice"}`)
	wantItem(t, out.Responses[1].Item, "none")
	if out, err = batch(t, db, said(`SELECT n, x FROM "sales" WHERE sk=? AND pk=?`, str("alice"), str("CLAIM"))); err != nil {
		t.Fatal(err)
	}
	wantItem(t, out.Responses[0].Item, `{n: 5}`)
	if w, r := db.Consumed(); w != 1 || r != 1.5 {
		t.Errorf("%v write and %v read units, want 1 for the put and 3 halves", w, r)
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

func FuzzEveryStatementParsesOrFailsWithASyntaxError(f *testing.F) {
	for _, seed := range []string{
		insertText, confirmText, selectText, `UPDATE "T" SET a=1, b.c[2]=b+? WHERE pk=? AND (NOT x IS NOT MISSING OR y<>'z''z')`,
		`INSERT INTO T VALUE {'a':'b'}`, `SELECT a, "b"[0] FROM T WHERE a=?`, `""`, `'`, `UPDATE "#x" SET "#"=1 WHERE "#"=1`, "\xff", "SELECT",
		`UPDATE T SET a=1.`, `UPDATE T SET a[1.5]=1 WHERE a=1`, `UPDATE T SET :=1 WHERE ?`,
	} {
		f.Add(seed)
	}
	db := New(Table{Name: "T", PK: "pk", SK: "sk"})
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseStatement(text)
		if err != nil {
			var syntax syntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("%q: %v is no syntax error", text, err)
			}
			return
		}
		s.table = "T"
		parameters := make([]types.AttributeValue, s.parameters)
		for i := range parameters {
			parameters[i] = str("a")
		}
		w, err := db.statementWrite(s, parameters)
		if err != nil {
			if _, ok := validationMessage(err); !ok {
				t.Errorf("%q: %v is no ValidationException", text, err)
			}
			return
		}
		_, _ = w.result(nil)
		_, _ = w.result(item{"pk": str("a"), "sk": str("a")})
	})
}
