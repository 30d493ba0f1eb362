package dynamotest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func only(f Fault) func(Call) Fault { return func(Call) Fault { return f } }

func stocked(t *testing.T, units string) *DB {
	t.Helper()
	db := newDB()
	mustPut(t, db, "STOCK", "S", attributes{"stock": num(units)})
	return db
}

func TestRefusingFaultsApplyNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		fault       Fault
		transaction string // the error's code, or the reasons
		single      string
	}{
		"a conflict on the claim": {Fault{Kind: Conflict, Items: []int{1}}, "None TransactionConflict ", "TransactionConflictException"},
		"a conflict on all":       {Fault{Kind: Conflict}, "TransactionConflict TransactionConflict ", "TransactionConflictException"},
		"a throttled request":     {Fault{Kind: Throttle}, "ThrottlingException", "ProvisionedThroughputExceededException"},
		"a throttled stock":       {Fault{Kind: Throttle, Items: []int{0}}, "ThrottlingError None ", "ProvisionedThroughputExceededException"},
		"a hot partition": {Fault{Kind: Throttle, Items: []int{0}, Code: "ProvisionedThroughputExceeded"},
			"ProvisionedThroughputExceeded None ", "ProvisionedThroughputExceededException"},
		"a server error":              {Fault{Kind: ServerError}, "InternalServerError", "InternalServerError"},
		"a conflict and what is true": {Fault{Kind: Cancel, Codes: []string{"TransactionConflict", ""}}, "TransactionConflict ConditionalCheckFailed ", ""},
		"what is true and a conflict": {Fault{Kind: Cancel, Codes: []string{"", "TransactionConflict"}}, "None TransactionConflict ", ""},
		"a throttle and nothing else": {Fault{Kind: Cancel, Codes: []string{"ThrottlingError", "None"}}, "ThrottlingError None ", ""},
	} {
		db := stocked(t, "1")
		mustPut(t, db, "CLAIM", "alice", nil)
		before := db.Dump()
		db.Fault = only(tt.fault)
		_, err := db.TransactWriteItems(t.Context(), buy("alice"))
		if tt.transaction[len(tt.transaction)-1] != ' ' {
			wantCode(t, err, tt.transaction)
		} else if got := codes(reasonsOf(t, err)); got != tt.transaction {
			t.Errorf("%s: reasons %s, want %s", name, got, tt.transaction)
		}
		if tt.single != "" {
			wantCode(t, put(inP("x"))(db, t.Context()), tt.single)
		}
		if db.Dump() != before {
			t.Errorf("%s: something was applied", name)
		}
	}
}

func TestALostReplyIsAppliedAndLooksLikeARealOne(t *testing.T) {
	for reply, matches := range map[Reply]func(error) bool{
		ReplyTimeout: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) },
		ReplyBrokenConnection: func(err error) bool {
			var broken *smithyhttp.RequestSendError
			return errors.As(err, &broken)
		},
		ReplyInternalError: func(err error) bool {
			var response *smithyhttp.ResponseError
			return errors.As(err, &response) && response.HTTPStatusCode() == 500
		},
	} {
		db := stocked(t, "1")
		db.Fault = only(Fault{Kind: LostReply, Reply: reply})
		_, err := db.TransactWriteItems(t.Context(), buy("alice"))
		if !matches(err) {
			t.Errorf("reply %d: error %v", reply, err)
		}
		db.Fault = nil
		wantItem(t, look(t, db, "CLAIM", "alice"), `[pk:CLAIM sk:alice]`)
	}
}

func TestALateRequestIsEvaluatedWhenItsTimeHasCome(t *testing.T) {
	db, c := stocked(t, "1"), newClock()
	db.Now = c.now
	db.Fault = func(call Call) Fault {
		if call.Op == "TransactWriteItems" && call.N == 2 {
			return Fault{Kind: ApplyLate, After: time.Second}
		}
		return Fault{}
	}
	_, err := db.TransactWriteItems(t.Context(), buy("alice"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v, want a timeout", err)
	}
	wantItem(t, look(t, db, "CLAIM", "alice"), "none")
	c.at = c.at.Add(time.Second)
	wantItem(t, look(t, db, "CLAIM", "alice"), `[pk:CLAIM sk:alice]`)
	if db.Pending() != 0 {
		t.Errorf("%d pending, want none", db.Pending())
	}
}

func TestItemsOfATransactionStayInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := stocked(t, "2")
		db.Busy = 10 * time.Millisecond
		if _, err := db.TransactWriteItems(t.Context(), buy("alice")); err != nil {
			t.Fatal(err)
		}
		_, err := db.TransactWriteItems(t.Context(), buy("bob"))
		if got := codes(reasonsOf(t, err)); got != "TransactionConflict None " {
			t.Errorf("bob on alice's shard: reasons %s", got)
		}
		_, err = db.TransactWriteItems(t.Context(), buy("alice"))
		if got := codes(reasonsOf(t, err)); got != "TransactionConflict TransactionConflict " {
			t.Errorf("alice again: reasons %s", got)
		}
		_, err = db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: aws.String(tableName), Key: keyAt("STOCK", "S")})
		wantCode(t, err, "TransactionConflictException")
		seen := said(`UPDATE "sales" SET seen = ? WHERE pk = ? AND sk = ?`, num("1"), str("CLAIM"), str("alice"))
		if got := answers(t, db, seen, insert("1")); got != "TransactionConflict ok" {
			t.Errorf("statements: %s", got)
		}
		wantItem(t, look(t, db, "STOCK", "S"), `[pk:STOCK sk:S stock:1]`)
		time.Sleep(db.Busy)
		if _, err := db.TransactWriteItems(t.Context(), buy("bob")); err != nil {
			t.Errorf("bob after %v: %v", db.Busy, err)
		}
	})
}

func TestAReadMayLagUnlessItIsConsistent(t *testing.T) {
	db, c := newDB(), newClock()
	db.Now = c.now
	read := func(consistent bool) string {
		out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{
			TableName: aws.String(tableName), Key: keyAt("p", "s"), ConsistentRead: &consistent,
		})
		if err != nil {
			t.Fatal(err)
		}
		return text(out.Item)
	}
	mustPut(t, db, "p", "s", attributes{"n": num("1")})
	mustPut(t, db, "p", "s", attributes{"n": num("2")})
	db.Fault = only(Fault{Stale: true})
	if fresh, stale := read(true), read(false); fresh != `[n:2 pk:p sk:s]` || stale != `[n:1 pk:p sk:s]` {
		t.Errorf("read %s and %s", fresh, stale)
	}
	db.Fault, db.Lag = nil, time.Second
	if lagging := read(false); lagging != `[n:1 pk:p sk:s]` {
		t.Errorf("within the lag: %s", lagging)
	}
	if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: keyAt("p", "s")}); err != nil {
		t.Fatal(err)
	}
	out, err := db.Query(t.Context(), queryOf("pk = :p", attributes{":p": str("p")}))
	if err != nil || len(out.Items) != 1 {
		t.Errorf("a lagging query after the deletion: %v, %v", out, err)
	}
	c.at = c.at.Add(time.Second)
	if gone := read(false); gone != "none" {
		t.Errorf("after the lag: %s", gone)
	}
}

func TestHalfOfATransactionMayBeHiddenFromPlainReads(t *testing.T) {
	db, c := stocked(t, "1"), newClock()
	db.Now = c.now
	db.Fault = only(Fault{Hidden: []int{1}, HiddenFor: time.Second})
	if _, err := db.TransactWriteItems(t.Context(), buy("alice")); err != nil {
		t.Fatal(err)
	}
	db.Fault = nil
	wantItem(t, look(t, db, "STOCK", "S"), `[pk:STOCK sk:S stock:0]`)
	wantItem(t, look(t, db, "CLAIM", "alice"), "none")
	wantItem(t, db.Item(tableName, "CLAIM", "alice"), `[pk:CLAIM sk:alice]`)
	page := queryOf("pk = :p", attributes{":p": str("CLAIM")})
	page.ConsistentRead = aws.Bool(true)
	if out, err := db.Query(t.Context(), page); err != nil || len(out.Items) != 0 {
		t.Errorf("a query sees %v (%v), want nothing", out, err)
	}
	if err := put(inP("other"))(db, t.Context()); err != nil {
		t.Error(err)
	}
	_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: keyAt("CLAIM", "alice")})
	wantCode(t, err, "TransactionConflictException")
	if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: keyAt("STOCK", "S")}); err != nil {
		t.Errorf("a write of the half that shows: %v", err)
	}
	c.at = c.at.Add(time.Second)
	wantItem(t, look(t, db, "CLAIM", "alice"), `[pk:CLAIM sk:alice]`)
}
