package dynamotest

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

func TestAFaultRefusesStatementsOneByOne(t *testing.T) {
	for name, tt := range map[string]struct {
		fault Fault
		want  string
	}{
		"a conflict on one":  {Fault{Kind: Conflict, Items: []int{1}}, "ok TransactionConflict ok"},
		"a conflict on all":  {Fault{Kind: Conflict}, "TransactionConflict TransactionConflict TransactionConflict"},
		"a throttled one":    {Fault{Kind: Throttle, Items: []int{0}}, "ThrottlingError ok ok"},
		"two hot partitions": {Fault{Kind: Throttle, Items: []int{0, 2}, Code: "ProvisionedThroughputExceeded"}, "ProvisionedThroughputExceeded ok ProvisionedThroughputExceeded"},
	} {
		db := newDB()
		db.Fault = only(tt.fault)
		if got := answers(t, db, insert("1"), insert("2"), insert("3")); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		db.Fault = nil
		for i, sk := range []string{"1", "2", "3"} {
			if applied := look(t, db, "ORDER", sk) != nil; applied == tt.fault.hits(i) {
				t.Errorf("%s: statement %d applied: %v", name, i, applied)
			}
		}
	}
}

func TestAFaultRefusesAWholeBatch(t *testing.T) {
	for _, tt := range []struct {
		fault Fault
		code  string
	}{
		{Fault{Kind: Throttle}, "ProvisionedThroughputExceededException"},
		{Fault{Kind: ServerError}, "InternalServerError"},
	} {
		db := newDB()
		db.Fault = only(tt.fault)
		_, err := batch(t, db, insert("1"), insert("2"))
		wantCode(t, err, tt.code)
		if db.Dump() != "" {
			t.Errorf("%s: something was applied", tt.code)
		}
	}
}

func TestAFaultSeesTheItemsOfABatch(t *testing.T) {
	db := newDB()
	var keys []string
	db.Fault = func(c Call) Fault {
		keys = c.Keys
		return Fault{}
	}
	answers(t, db, insert("1"), said("nonsense"), confirm("alice", "c", "1"))
	if diff := cmp.Diff([]string{"ORDER|1", "", "CLAIM|alice"}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestAStatementConflictsWithATransactionInFlight(t *testing.T) {
	db, at := stocked(t, "9"), newClock()
	db.Now, db.Busy = at.now, 10*time.Millisecond
	if _, err := db.TransactWriteItems(t.Context(), buy("alice")); err != nil {
		t.Fatal(err)
	}
	touch := said(`UPDATE "sales" SET seen = ? WHERE pk = ? AND sk = ?`, num("1"), str("CLAIM"), str("alice"))
	if got := answers(t, db, touch, insert("1")); got != "TransactionConflict ok" {
		t.Errorf("got %s", got)
	}
	at.at = at.at.Add(10 * time.Millisecond)
	if got := answers(t, db, touch); got != "ok" {
		t.Errorf("after the transaction: got %s", got)
	}
}

func TestRatesReachStatements(t *testing.T) {
	db := newDB()
	db.Fault = Rates{Conflict: 0.3, Throttle: 0.3}.Seeded(1)
	seen := map[types.BatchStatementErrorCodeEnum]int{}
	applied, whole := 0, 0
	for i := range 200 {
		out, err := batch(t, db, insert(fmt.Sprint("a", i)), insert(fmt.Sprint("b", i)))
		if err != nil {
			whole++
			continue
		}
		for _, r := range out.Responses {
			if r.Error != nil {
				seen[r.Error.Code]++
			} else {
				applied++
			}
		}
	}
	for _, code := range []types.BatchStatementErrorCodeEnum{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"} {
		if seen[code] == 0 {
			t.Errorf("no statement met %s", code)
		}
	}
	if len(db.Items(tableName)) != applied || whole == 0 {
		t.Errorf("%d items of %d applied statements, %d batches refused", len(db.Items(tableName)), applied, whole)
	}
}
