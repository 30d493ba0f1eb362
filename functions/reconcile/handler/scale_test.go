package handler

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"flashsale/infra/kit/dynamotest"
)

var whole = flag.Bool("whole", false, "look at 300 sales of 100 shards and at 100 of 1,000, not at a tenth of them")

// A run has a minute, because ledger.ResendBound needs a run every minute. A call takes 10 ms.
func TestARunOverManySalesTakesLessThanAMinute(t *testing.T) {
	part := 10
	if *whole {
		part = 1
	}
	for _, tt := range []struct{ sales, shards, sold int }{
		{1000, 1, 0}, {1000, 1, 1}, {300 / part, 100, 0}, {300 / part, 100, 5}, {100 / part, 1000, 0}, {100 / part, 1000, 5},
	} {
		limit := time.Minute
		if tt.shards > 1 {
			limit /= time.Duration(2 * part) // a minute for twice as many
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
					w.DB.ResetUsage()
					began := time.Now()
					r := w.receipts(`{}`)
					took, calls := time.Since(began), 0
					for _, n := range w.DB.Calls() {
						calls += n
					}
					if len(r) != tt.sales || took >= limit {
						t.Errorf("the %s run took %v and made %d receipts", run, took, len(r))
					}
					units := 0.0
					for _, one := range r {
						units += one.ReadUnits
					}
					t.Logf("%d sales of %d shards, %d sold in each: the %s run takes %v, %d calls, %.0f read units",
						tt.sales, tt.shards, tt.sold, run, took, calls, units)
				}
			})
		})
	}
}
