package harness

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/dynamotest"
)

// noFaults lets every call through.
type noFaults struct{}

func (noFaults) Intercept(_ context.Context, _ *Environment, _ Point, do func() error) error {
	return do()
}

// quietSale is the table of a sale of three units with two orders.
func quietSale(t *testing.T) *dynamotest.DB {
	t.Helper()
	w := NewWorld(noFaults{}, func() float64 { return 0.5 })
	_, err := w.Start(Seeding, 0).Command(fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":"2089-01-01T00:00:00Z","stock":3,"shards":1}`,
		SaleID, Stamp(time.Now().Add(-time.Minute))), new(any))
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"alice", "bob"} {
		if r, _, _ := w.Start(Purchasing, 0).Buy(SaleID, user, ""); r.Status != 202 {
			t.Fatalf("%s is told %d %s", user, r.Status, r.Code)
		}
	}
	w.Start(Finalizing, 0).Deliver(w.Queue.Receive(time.Now(), 10, nil))
	return w.DB
}

func TestAnAuditNoticesBooksThatWereTamperedWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		AdvanceClock()
		if found := ReadBooks(quietSale(t), SaleID).Audit(); len(found) > 0 {
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
			db := quietSale(t)
			tamper(t, db)
			if len(ReadBooks(db, SaleID).Audit()) == 0 {
				t.Errorf("%s: not noticed", name)
			}
		}
	})
}

func change(t *testing.T, db *dynamotest.DB, pk, sk, attribute string, by int64) {
	t.Helper()
	if err := db.Tamper(t.Context(), TableName, pk, sk, attribute, by); err != nil {
		t.Fatal(err)
	}
}
