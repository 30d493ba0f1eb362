package handler

import (
	"fmt"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
)

// A run has a minute, because ledger.ResendBound needs a run every minute. A call takes 10 ms.
func TestARunOverManySalesTakesLessThanAMinute(t *testing.T) {
	for _, tt := range []struct{ sales, shards, sold int }{
		{1000, 1, 0}, {1000, 1, 1}, {30, 100, 0}, {30, 100, 5}, {10, 1000, 0}, {10, 1000, 5},
	} {
		limit := time.Minute
		if tt.shards > 1 {
			limit /= 20 // a minute for twenty times as many
		}
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			in(t, func(w *world) {
				for i := range tt.sales {
					saleID := fmt.Sprint("sale-", i)
					w.open(saleID, 1000, tt.shards)
					w.Confirm(w.Crowd(saleID, 0, tt.sold)...)
				}
				w.DB.Fault = func(dynamotest.Call) dynamotest.Fault { return dynamotest.Fault{Delay: 10 * time.Millisecond} }
				for _, run := range []string{"first", "later"} {
					time.Sleep(5 * time.Minute)
					began := time.Now()
					r := w.receipts(`{}`)
					took := time.Since(began)
					if len(r) != tt.sales || took >= limit {
						t.Errorf("the %s run took %v and made %d receipts", run, took, len(r))
					}
				}
			})
		})
	}
}
