package dynamotest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
		fault               Fault
		transaction, single string // what a transaction and a single write are told
	}{
		"a conflict on the claim": {Fault{Kind: Conflict, Items: []int{1}}, "None TransactionConflict", "TransactionConflictException"},
		"a conflict on all":       {Fault{Kind: Conflict}, "TransactionConflict TransactionConflict", "TransactionConflictException"},
		"a throttled request":     {Fault{Kind: Throttle}, "ThrottlingException", "ProvisionedThroughputExceededException"},
		"a throttled stock":       {Fault{Kind: Throttle, Items: []int{0}}, "ThrottlingError None", "ProvisionedThroughputExceededException"},
		"a hot partition": {Fault{Kind: Throttle, Items: []int{0}, Code: "ProvisionedThroughputExceeded"},
			"ProvisionedThroughputExceeded None", "ProvisionedThroughputExceededException"},
		"a server error":              {Fault{Kind: ServerError}, "InternalServerError", "InternalServerError"},
		"a conflict and what is true": {Fault{Kind: Cancel, Codes: []string{"TransactionConflict", ""}}, "TransactionConflict ConditionalCheckFailed", "ok"},
		"what is true and a conflict": {Fault{Kind: Cancel, Codes: []string{"", "TransactionConflict"}}, "None TransactionConflict", "ok"},
		"a throttle and nothing else": {Fault{Kind: Cancel, Codes: []string{"ThrottlingError", "None"}}, "ThrottlingError None", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			db := stocked(t, "1")
			mustPut(t, db, "CLAIM", "alice", nil)
			before := db.Dump()
			db.Fault = only(tt.fault)
			wantTold(t, db, buy("alice"), tt.transaction)
			if db.Dump() != before {
				t.Errorf("something was applied: %s", db.Dump())
			}
			wantTold(t, db, put(inP("x")), tt.single)
			if stored := db.Item(tableName, "p", "x") != nil; stored != (tt.single == "ok") {
				t.Errorf("the single write is applied: %t", stored)
			}
		})
	}
}

func TestALostCallIsAppliedAtOnceAndALateOneWhenItsTimeHasCome(t *testing.T) {
	for _, tt := range []struct {
		fault             Fault
		atOnce, afterward bool
	}{
		{Fault{Kind: LostReply}, true, true},
		{Fault{Kind: LostReply, Reply: ReplyBrokenConnection}, true, true},
		{Fault{Kind: LostReply, Reply: ReplyInternalError}, true, true},
		{Fault{Kind: ApplyLate, After: time.Second}, false, true},
		{Fault{Kind: ApplyLate}, false, false},
	} {
		db, c := stocked(t, "1"), newClock()
		db.Now, db.Fault = c.now, only(tt.fault)
		answer := told(t, db, buy("alice"))
		applied := func() bool { return db.Item(tableName, "CLAIM", "alice") != nil }
		atOnce := applied()
		c.at = c.at.Add(time.Second)
		afterward := applied()
		if db.ApplyPending(); answer == "ok" || atOnce != tt.atOnce || afterward != tt.afterward || !applied() {
			t.Errorf("%+v: it answers %s, is applied at once: %t, after a second: %t, in the end: %t", tt.fault, answer, atOnce, afterward, applied())
		}
	}
}

func TestItemsOfATransactionStayInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := stocked(t, "2")
		db.Busy = 10 * time.Millisecond
		wantTold(t, db, buy("alice"), "ok")
		wantTold(t, db, buy("bob"), "TransactionConflict None")
		wantTold(t, db, buy("alice"), "TransactionConflict TransactionConflict")
		wantTold(t, db, put(keyAt("STOCK", "S")), "TransactionConflictException")
		seen := said(`UPDATE "sales" SET seen = ? WHERE pk = ? AND sk = ?`, num("1"), str("CLAIM"), str("alice"))
		if got := answers(t, db, seen, insert("1")); got != "TransactionConflict ok" {
			t.Errorf("statements: %s", got)
		}
		wantItem(t, look(t, db, "STOCK", "S"), `[pk:STOCK sk:S stock:1]`)
		time.Sleep(db.Busy)
		wantTold(t, db, buy("bob"), "ok")
	})
}

// That DB.Lag hides what was written is what the mutants of infra/proof/mutants are noticed by.
func TestAReadMayBeStaleUnlessItIsConsistent(t *testing.T) {
	db := newDB()
	read := func() string {
		out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: inP("s")})
		if err != nil {
			t.Fatal(err)
		}
		return text(out.Item)
	}
	mustPut(t, db, "p", "s", attributes{"n": num("1")})
	mustPut(t, db, "p", "s", attributes{"n": num("2")})
	db.Fault = only(Fault{Stale: true})
	wantItem(t, look(t, db, "p", "s"), `[n:2 pk:p sk:s]`)
	if stale := read(); stale != `[n:1 pk:p sk:s]` {
		t.Errorf("read %s", stale)
	}
}

func TestHalfOfATransactionMayBeHiddenFromPlainReads(t *testing.T) {
	db, c := stocked(t, "1"), newClock()
	db.Now = c.now
	db.Fault = only(Fault{Hidden: []int{1}, HiddenFor: time.Second})
	wantTold(t, db, buy("alice"), "ok")
	db.Fault = nil
	wantItem(t, look(t, db, "STOCK", "S"), `[pk:STOCK sk:S stock:0]`)
	wantItem(t, look(t, db, "CLAIM", "alice"), "none")
	wantItem(t, db.Item(tableName, "CLAIM", "alice"), `[pk:CLAIM sk:alice]`)
	page := queryOf("pk = :p", attributes{":p": str("CLAIM")})
	page.ConsistentRead = aws.Bool(true)
	if out, err := db.Query(t.Context(), page); err != nil || len(out.Items) != 0 {
		t.Errorf("a query sees %v (%v), want nothing", out, err)
	}
	wantTold(t, db, together(keyAt("STOCK", "S"), keyAt("CLAIM", "alice")), "None TransactionConflict")
	wantTold(t, db, together(keyAt("STOCK", "S"), keyAt("CLAIM", "bob")), "ok")
	wantTold(t, db, put(inP("other")), "ok")
	wantTold(t, db, put(keyAt("CLAIM", "alice")), "TransactionConflictException")
	wantTold(t, db, put(keyAt("STOCK", "S")), "ok") // it shows already
	c.at = c.at.Add(time.Second)
	wantItem(t, look(t, db, "CLAIM", "alice"), `[pk:CLAIM sk:alice]`)
}

func TestABatchReadMayBeOfTwoInstants(t *testing.T) {
	db, c := newDB(), newClock()
	db.Now = c.now
	mustPut(t, db, "p", "a", attributes{"n": num("1")})
	mustPut(t, db, "p", "b", attributes{"n": num("1")})
	c.at = c.at.Add(time.Second)
	mustPut(t, db, "p", "a", attributes{"n": num("2")})
	mustPut(t, db, "p", "b", attributes{"n": num("2")})
	for by, want := range map[time.Duration]string{0: "2 2", time.Millisecond: "1 2"} {
		db.Fault = only(Fault{Torn: []int{0}, TornBy: by})
		out, err := db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			tableName: {Keys: []map[string]types.AttributeValue{inP("a"), inP("b")}, ConsistentRead: aws.Bool(true)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for _, it := range out.Responses[tableName] {
			seen[it["sk"].(*types.AttributeValueMemberS).Value] = it["n"].(*types.AttributeValueMemberN).Value
		}
		if got := seen["a"] + " " + seen["b"]; got != want {
			t.Errorf("torn by %v, it reads %s, want %s", by, got, want)
		}
	}
}
