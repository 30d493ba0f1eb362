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
		db.Fault = only(Fault{Kind: Conflict})
		wantTold(t, db, put(inP("another")), "TransactionConflictException")
		if it := db.Item(tableName, "p", "another"); it != nil {
			t.Errorf("the write that is refused is applied: %s", text(it))
		}
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
