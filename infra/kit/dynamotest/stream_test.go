package dynamotest

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
)

// streamed is a table whose records are collected.
func streamed(records *[]Record) *DB {
	db := newDB()
	db.Stream = func(r Record) { *records = append(*records, r) }
	return db
}

func setStock(stock string) call {
	return of((*DB).UpdateItem, &dynamodb.UpdateItemInput{
		TableName: aws.String(tableName), Key: keyAt("STOCK", "S"), UpdateExpression: aws.String("SET stock = :n"),
		ExpressionAttributeValues: attributes{":n": num(stock)},
	})
}

func TestTheStreamHasARecordOfEachChangeAndOfNoChangeOnlyIfAskedFor(t *testing.T) {
	var got []Record
	db := streamed(&got)
	mustPut(t, db, "STOCK", "S", attributes{"stock": num("2")})
	wantTold(t, db, setStock("1"), "ok")
	for _, db.StreamUnchanged = range []bool{false, true} {
		wantTold(t, db, setStock("01"), "ok")
	}
	wantTold(t, db, remove("STOCK", "S"), "ok")
	wantTold(t, db, remove("STOCK", "S"), "ok")
	want := []string{
		`1 INSERT none → [pk:STOCK sk:S stock:2]`,
		`2 MODIFY [pk:STOCK sk:S stock:2] → [pk:STOCK sk:S stock:1]`,
		`3 MODIFY [pk:STOCK sk:S stock:1] → [pk:STOCK sk:S stock:1]`,
		`4 REMOVE [pk:STOCK sk:S stock:1] → none`,
	}
	var lines []string
	for _, r := range got {
		lines = append(lines, fmt.Sprintf("%d %s %s → %s", r.Sequence, r.EventName(), text(r.Old), text(r.New)))
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestARewoundTableIsAsBeforeTheRecordsAndNothingOlderReachesIt(t *testing.T) {
	var got []Record
	db := streamed(&got)
	db.Lag = time.Minute
	mustPut(t, db, "STOCK", "S", attributes{"stock": num("2")})
	before := db.Dump()
	wantTold(t, db, buy("alice"), "ok")
	wantTold(t, db, remove("STOCK", "S"), "ok")
	half := got[2:] // the claim and the deletion, but not the unit
	db.Fault = only(Fault{Kind: ApplyLate})
	told(t, db, setStock("7"))
	db.Fault = nil
	records := len(got)
	db.Rewind(half)
	if got := text(db.Item(tableName, "STOCK", "S")); got != `[pk:STOCK sk:S stock:1]` || len(db.Items(tableName)) != 1 {
		t.Errorf("without the claim and the deletion there is %s", db.Dump())
	}
	if out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyAt("STOCK", "S")}); err != nil || text(out.Item) != text(db.Item(tableName, "STOCK", "S")) {
		t.Errorf("a lagging read sees %v, %v", out, err)
	}
	db.Rewind(got[1:2])
	if db.Dump() != before || db.ApplyPending() != 0 || len(got) != records {
		t.Errorf("there is %s, and %d records more", db.Dump(), len(got)-records)
	}
}
