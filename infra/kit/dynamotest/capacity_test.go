package dynamotest

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
		"a small write":           {func(db *DB) error { return put(inP("new"))(db, t.Context()) }, 1, 0},
		"a write over a big item": {func(db *DB) error { return put(inP("big"))(db, t.Context()) }, 5, 0},
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
