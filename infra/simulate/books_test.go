package simulate

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/shared/ledger/dynamotest"
)

// quietSale is a sale of three units with two orders.
func quietSale() *run {
	c := &chooser{plan: &plan{}}
	r := &run{world: newWorld(c, func() float64 { return 0.5 }), chooser: c}
	r.reset()
	r.commands(fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":"2089-01-01T00:00:00Z","stock":3,"shards":1}`,
		saleID, stamp(time.Now().Add(-time.Minute))))
	r.buys(r.start(purchasing, 0), "alice", "")
	r.buys(r.start(purchasing, 0), "bob", "")
	r.deliverAll(r.start(finalizing, 0))
	return r
}

func TestAnAuditNoticesBooksThatWereTamperedWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		travel()
		if found := readBooks(quietSale().db, saleID).audit(); len(found) > 0 {
			t.Fatalf("untouched books: %q", found)
		}
		for name, tamper := range map[string]func(*testing.T, *dynamotest.DB){
			"a unit too many": func(t *testing.T, db *dynamotest.DB) {
				change(t, db, "STOCK#moutai#0", "STOCK", "stock", 1)
			},
			"a shard below zero": func(t *testing.T, db *dynamotest.DB) {
				change(t, db, "STOCK#moutai#0", "STOCK", "stock", -5)
			},
			"a shard seeded twice": func(t *testing.T, db *dynamotest.DB) {
				change(t, db, "STOCK#moutai#0", "STOCK", "stock", 3)
				change(t, db, "STOCK#moutai#0", "STOCK", "seeded", 3)
			},
			"an order id that has changed": func(t *testing.T, db *dynamotest.DB) {
				change(t, db, "CLAIM#moutai#0", "alice", "orderId", 1)
			},
			"a claim on a shard that is not there": func(t *testing.T, db *dynamotest.DB) {
				change(t, db, "CLAIM#moutai#0", "alice", "shard", 7)
			},
			"a second claim in another bucket": func(t *testing.T, db *dynamotest.DB) {
				change(t, db, "CLAIM#moutai#1", "alice", "shard", 0)
			},
			"an order without a claim": func(t *testing.T, db *dynamotest.DB) {
				change(t, db, "ORDER#77", "ORDER", "saleId", 0)
			},
		} {
			r := quietSale()
			tamper(t, r.db)
			if len(readBooks(r.db, saleID).audit()) == 0 {
				t.Errorf("%s: not noticed", name)
			}
		}
	})
}

func change(t *testing.T, db *dynamotest.DB, pk, sk, attribute string, by int64) {
	t.Helper()
	if err := db.Tamper(t.Context(), tableName, pk, sk, attribute, by); err != nil {
		t.Fatal(err)
	}
}
