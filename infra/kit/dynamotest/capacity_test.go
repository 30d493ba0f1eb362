package dynamotest

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestCapacityIsCountedAsAWSBillsIt(t *testing.T) {
	get := func(sk string, consistent bool) call {
		return func(db *DB, ctx context.Context) error {
			_, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: inP(sk), ConsistentRead: &consistent})
			return err
		}
	}
	throttled := func(db *DB, ctx context.Context) error {
		db.Fault = only(Fault{Kind: Throttle})
		return get("s", true)(db, ctx)
	}
	for name, tt := range map[string]struct {
		call        call
		fails       bool
		write, read float64
	}{
		"a consistent read":          {get("small", true), false, 0, 1},
		"an eventual read":           {get("small", false), false, 0, 0.5},
		"a read of nothing":          {get("gone", true), false, 0, 1},
		"a read above 4 KB":          {get("s", true), false, 0, 2},
		"a small write":              {put(inP("new")), false, 1, 0},
		"a write over a big item":    {put(inP("s")), false, 5, 0},
		"a transaction of two":       {transact(buy("alice").TransactItems...), false, 4, 0},
		"a batch of two statements":  {say(insert("1"), said(insertText, str("ORDER"), str("2"), str(strings.Repeat("x", 2000)))), false, 3, 0},
		"a query":                    {queryBy("pk = :p", attributes{":p": str("p")}), false, 0, 1},
		"a query of nothing":         {queryBy("pk = :p", attributes{":p": str("z")}), false, 0, 0.5},
		"a throttled call":           {throttled, true, 0, 0},
		"a condition that fails":     {on("attribute_exists(gone)", nil, nil), true, 5, 0},
		"a transaction of no effect": {transact(buy("known").TransactItems...), true, 4, 0},
	} {
		db := stocked(t, "9")
		mustPut(t, db, "p", "small", nil)
		mustPut(t, db, "p", "s", attributes{"pad": str(strings.Repeat("x", 5000))})
		mustPut(t, db, "CLAIM", "known", nil)
		db.ResetUsage()
		if err := tt.call(db, t.Context()); (err != nil) != tt.fails {
			t.Errorf("%s: %v", name, err)
		}
		if write, read := db.Consumed(); write != tt.write || read != tt.read {
			t.Errorf("%s: %v write and %v read units, want %v and %v", name, write, read, tt.write, tt.read)
		}
	}
}
