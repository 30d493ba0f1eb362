package dynamotest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
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

// Lambda's own types must read the JSON.
func TestARecordIsReadableAsLambdaSendsIt(t *testing.T) {
	var got []Record
	db := streamed(&got)
	db.Now = newClock().now
	more := attributes{
		"text": str("„x\"\n"), "n": num("-15"), "yes": boolean(true), "names": strSet("a", "b"), "numbers": numSet("-15", "2"),
	}
	mustPut(t, db, "P", "S", more)
	mustPut(t, db, "P", "S", nil)
	for i, r := range got {
		var read events.DynamoDBEventRecord
		if err := json.Unmarshal(r.JSON(), &read); err != nil {
			t.Fatalf("%s: %v", r.JSON(), err)
		}
		change := read.Change
		if read.EventName != r.EventName() || change.SequenceNumber != fmt.Sprintf("10000000000000000000%d", i+1) ||
			!change.ApproximateCreationDateTime.Equal(r.At) || change.StreamViewType != "NEW_AND_OLD_IMAGES" ||
			change.SizeBytes != int64(item(r.Keys).size()+item(r.Old).size()+item(r.New).size()) {
			t.Errorf("read %+v", read)
		}
		for is, read := range map[*attributes]map[string]events.DynamoDBAttributeValue{&r.Keys: change.Keys, &r.Old: change.OldImage, &r.New: change.NewImage} {
			if again, err := json.Marshal(read); err != nil || *is != nil && string(again) != string(JSON(*is)) || *is == nil && read != nil {
				t.Errorf("read %s (%v), want %s", again, err, JSON(*is))
			}
		}
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
