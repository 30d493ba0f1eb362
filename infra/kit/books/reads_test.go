package books

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"flashsale/infra/kit/dynamotest"
)

// load makes a table of items.
func load(t *testing.T, all items) *dynamotest.DB {
	t.Helper()
	db := newDB()
	for _, it := range all {
		name := tableName
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// refusing is a table that may not be scanned.
type refusing struct{ *dynamotest.DB }

func (refusing) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return nil, &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "no"}
}

func TestAReceiptSaysWhatItDidNotLookFor(t *testing.T) {
	w := sold(t)
	for name, c := range map[string]struct {
		db   DynamoDB
		full bool
		says string
	}{
		"a table too large":     {manyPages{w.db, maxPages + 1}, false, "shards and claims beyond the sale's, sales that are not listed and items that belong to no sale: the table is larger than 64 MB (--full scans it)"},
		"in full":               {manyPages{w.db, maxPages + 1}, true, ""},
		"a table of 64 MB":      {manyPages{w.db, maxPages}, false, ""},
		"Scan is not permitted": {refusing{w.db}, true, "dynamodb:Scan is not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Recount(t.Context(), c.db, tableName, "moutai", Options{Now: w.Now, Sleep: noSleep, Full: c.full})
			if err != nil || !r.Balanced {
				t.Fatalf("got %+v (%v)", r, err)
			}
			if got := strings.Join(r.NotLookedFor, "\n"); !strings.Contains(got, c.says) || (c.says == "") != (got == "") {
				t.Errorf("it did not look for %q, want %q", got, c.says)
			}
		})
	}
}

// manyPages is a table whose scan has that many pages, all but the last one empty.
type manyPages struct {
	*dynamotest.DB
	pages int
}

func (m manyPages) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if n := 1 + len(keyOf(in.ExclusiveStartKey).pk); n < m.pages {
		return &dynamodb.ScanOutput{LastEvaluatedKey: item{"pk": text(strings.Repeat("x", n)), "sk": text("x")}}, nil
	}
	in.ExclusiveStartKey = nil
	return m.DB.Scan(ctx, in, o...)
}

func TestEveryReadIsConsistentAndThrottledKeysAreReadAgain(t *testing.T) {
	w := newWorld(t)
	w.Open(400, 250)
	w.Confirmed(w.buy(0, 20))
	// A batch of which nothing is processed is an exception, which the client retries.
	faults := dynamotest.Rates{Unprocessed: 0.5, Stale: 1}.Seeded(3)
	w.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		f := faults(c)
		if len(c.Keys) < 2 {
			f.Kind = dynamotest.NoFault
		}
		return f
	}
	if r, err := Recount(w.Ctx, w.db, tableName, "moutai", Options{Now: w.Now, Sleep: noSleep}); err != nil || !r.Balanced || r.Claims != 20 {
		t.Errorf("got %+v (%v)", r, err)
	}
	w.db.Fault = dynamotest.Rates{Unprocessed: 1}.Seeded(3)
	if r, err := Recount(w.Ctx, w.db, tableName, "moutai", Options{Now: w.Now, Sleep: noSleep}); err == nil || r != nil {
		t.Errorf("throttled to the end: %+v (%v)", r, err)
	}
	w.db.Fault = dynamotest.Rates{ServerError: 1}.Seeded(3)
	if r, err := Recount(w.Ctx, w.db, tableName, "moutai", Options{Now: w.Now, Sleep: noSleep}); err == nil || errors.Is(err, ErrNoSale) {
		t.Errorf("failing: %+v (%v)", r, err)
	}
}

func TestASaleThatIsNotThereHasNoReceipt(t *testing.T) {
	w := sold(t)
	for _, id := range []string{"maotai", "", "a#b", strings.Repeat("x", 65)} {
		if r, err := Recount(w.Ctx, w.db, tableName, id, Options{Now: w.Now, Sleep: noSleep}); !errors.Is(err, ErrNoSale) {
			t.Errorf("%q: %+v (%v)", id, r, err)
		}
	}
}
