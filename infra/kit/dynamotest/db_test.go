package dynamotest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestItemsAreCopiedInAndOut(t *testing.T) {
	db := newDB()
	set := []string{"a"}
	it := keyAt("p", "s")
	it["names"] = strSet(set...)
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: it}); err != nil {
		t.Fatal(err)
	}
	want := db.Dump()
	set[0] = "changed by the writer"
	read := look(t, db, "p", "s")
	read["names"].(*types.AttributeValueMemberSS).Value[0] = "changed by the reader"
	db.Items(tableName)[0]["names"] = str("changed by the auditor")
	if got := db.Dump(); got != want {
		t.Errorf("stored item changed from outside:\n%s", got)
	}
}

func TestAnUpdateThatCannotApplyCancelsItsTransaction(t *testing.T) {
	db := newDB()
	err := transact(putting("a"), types.TransactWriteItem{
		Update: &types.Update{TableName: aws.String(tableName), Key: inP("b"), UpdateExpression: aws.String("SET n = gone")},
	})(db, t.Context())
	if got := codes(reasonsOf(t, err)); got != "None ValidationError " || db.Dump() != "" {
		t.Errorf("reasons %s, stored %s", got, db.Dump())
	}
}

func TestASnapshotRestoresItemsAndLateRequests(t *testing.T) {
	db, c := stocked(t, "9"), newClock()
	db.Now, db.Busy = c.now, 0
	if _, err := db.TransactWriteItems(t.Context(), buy("alice")); err != nil {
		t.Fatal(err)
	}
	db.Fault = only(Fault{Kind: ApplyLate})
	_, _ = db.TransactWriteItems(t.Context(), buy("late"))
	db.Fault = nil
	before, s := db.Dump(), db.Snapshot()
	for range 3 {
		if db.ApplyPending() != 1 || db.Dump() == before {
			t.Fatal("the late request did not apply")
		}
		if _, err := db.TransactWriteItems(t.Context(), buy("bob")); err != nil {
			t.Fatal(err)
		}
		db.Restore(s)
		if db.Dump() != before || db.Pending() != 1 {
			t.Fatalf("restored %s, %d pending", db.Dump(), db.Pending())
		}
	}
}

func TestASetOfWhichNothingIsLeftIsGone(t *testing.T) {
	db := newDB()
	mustPut(t, db, "p", "s", attributes{"numbers": numSet("1", "2"), "texts": strSet("a")})
	if err := update("DELETE numbers :n, texts :t", attributes{":n": numSet("2", "1"), ":t": strSet("a", "b")})(db, t.Context()); err != nil {
		t.Fatal(err)
	}
	wantItem(t, look(t, db, "p", "s"), `{pk: "p", sk: "s"}`)
}

func TestAStatementsFailedConditionShowsTheItemIfAsked(t *testing.T) {
	db := newDB()
	mustPut(t, db, "CLAIM", "alice", nil)
	silent := said(`UPDATE "sales" SET n = ? WHERE pk = ? AND sk = ? AND claimId = ?`, num("1"), str("CLAIM"), str("alice"), str("c"))
	asking := silent
	asking.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	for want, one := range map[string]types.BatchStatementRequest{"none": silent, `{pk: "CLAIM", sk: "alice"}`: asking} {
		out, err := db.BatchExecuteStatement(t.Context(), &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{one}})
		if err != nil || out.Responses[0].Error.Code != types.BatchStatementErrorCodeEnumConditionalCheckFailed {
			t.Fatalf("answered %+v, %v", out, err)
		}
		wantItem(t, out.Responses[0].Error.Item, want)
	}
}
