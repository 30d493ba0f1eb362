package dynamotest

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

func TestCapacityIsCountedAsAWSBillsIt(t *testing.T) {
	big := attributes{"pad": str(strings.Repeat("x", 5000))}
	get := func(sk string, consistent bool) func(*DB) error {
		return func(db *DB) error {
			_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{
				TableName: aws.String(tableName), Key: keyAt("p", sk), ConsistentRead: &consistent,
			})
			return err
		}
	}
	for name, tt := range map[string]struct {
		call        func(*DB) error
		write, read float64
	}{
		"a consistent read":       {get("small", true), 0, 1},
		"an eventual read":        {get("small", false), 0, 0.5},
		"a read of nothing":       {get("gone", true), 0, 1},
		"a read above 4 KB":       {get("big", true), 0, 2},
		"a small write":           {func(db *DB) error { return put(db, t.Context(), "new") }, 1, 0},
		"a write over a big item": {func(db *DB) error { return put(db, t.Context(), "big") }, 5, 0},
		"a transaction of two":    {func(db *DB) error { _, err := db.TransactWriteItems(t.Context(), buy("alice")); return err }, 4, 0},
		"a query": {func(db *DB) error {
			_, err := db.Query(t.Context(), queryOf("pk = :p", attributes{":p": str("p")}))
			return err
		}, 0, 1},
		"a query of nothing": {func(db *DB) error {
			_, err := db.Query(t.Context(), queryOf("pk = :p", attributes{":p": str("z")}))
			return err
		}, 0, 0.5},
		"a throttled call":           {throttled, 0, 0},
		"a failed condition":         {failing("big"), 5, 0},
		"a failed condition on none": {failing("gone"), 1, 0},
		"a cancelled transaction":    {func(db *DB) error { _, err := db.TransactWriteItems(t.Context(), buy("known")); return ignore(err) }, 4, 0},
	} {
		db := stocked(t, "9")
		mustPut(t, db, "p", "small", nil)
		mustPut(t, db, "p", "big", big)
		if _, err := db.TransactWriteItems(t.Context(), buy("known")); err != nil {
			t.Fatal(err)
		}
		db.ResetUsage()
		if err := tt.call(db); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if write, read := db.Consumed(); write != tt.write || read != tt.read {
			t.Errorf("%s: %v write and %v read units, want %v and %v", name, write, read, tt.write, tt.read)
		}
	}
}

// ignore drops an error that the test expects.
func ignore(error) error { return nil }

func throttled(db *DB) error {
	db.Fault = only(Fault{Kind: Throttle})
	_, err := db.Scan(context.Background(), &dynamodb.ScanInput{TableName: aws.String(tableName)})
	return ignore(err)
}

func failing(sk string) func(*DB) error {
	return func(db *DB) error {
		_, err := db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: aws.String(tableName), Key: keyAt("p", sk), ConditionExpression: aws.String("attribute_exists(gone)"),
		})
		return ignore(err)
	}
}

func TestConsumedCapacityIsAnsweredWhenAsked(t *testing.T) {
	db := stocked(t, "9")
	in := buy("alice")
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := db.TransactWriteItems(t.Context(), in)
	if err != nil || len(out.ConsumedCapacity) != 1 {
		t.Fatalf("answered %+v, %v", out, err)
	}
	if used := out.ConsumedCapacity[0]; *used.CapacityUnits != 4 || *used.TableName != tableName {
		t.Errorf("consumed %+v", used)
	}
	plain, err := db.TransactWriteItems(t.Context(), buy("bob"))
	if err != nil || plain.ConsumedCapacity != nil {
		t.Errorf("not asked, answered %+v, %v", plain, err)
	}
}

func TestCallsAreCountedByOperation(t *testing.T) {
	db := stocked(t, "9")
	_, _ = db.TransactWriteItems(t.Context(), buy("alice"))
	_ = throttled(db)
	_ = throttled(db)
	want := map[string]int{"PutItem": 1, "TransactWriteItems": 1, "Scan": 2}
	if diff := cmp.Diff(want, db.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	db.ResetUsage()
	if got := db.Calls(); len(got) != 0 {
		t.Errorf("after a reset: %v", got)
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
