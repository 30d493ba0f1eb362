package ledger

import (
	"fmt"
	"testing"

	"flashsale/shared/sale"
)

func TestWhatAnEnvironmentRemembersIsBounded(t *testing.T) {
	vs, counts := newViews(), newRemainders()
	for i := range maxViews + 10 {
		id := fmt.Sprint("sale-", i)
		vs.of(id)
		counts.put(sale.Sale{ID: id}, Remaining{}, readAt)
		if want := min(i+1, maxViews); len(vs.m) != want || len(counts.m) != i%maxViews+1 {
			t.Fatalf("after %d sales: %d snapshots and %d counts", i+1, len(vs.m), len(counts.m))
		}
	}
	recent := newRecentClaims()
	for i := range 2*maxRecent + 10 {
		recent.put(sale.Claim{SaleID: "moutai", User: fmt.Sprint(i)}, readAt)
		_, oldest := recent.get("moutai", fmt.Sprint(i-maxRecent+1), readAt)
		_, forgotten := recent.get("moutai", fmt.Sprint(i-maxRecent), readAt)
		if oldest != (i >= maxRecent-1) || forgotten || len(recent.m) > maxRecent || len(recent.order) > maxRecent {
			t.Fatalf("after %d claims: %d are remembered, the oldest that should be: %v", i+1, len(recent.m), oldest)
		}
	}
}

func TestAPassListsTwentyFindingsAndTwentyMismatchesAtMost(t *testing.T) {
	a := &Audit{}
	for i := range 25 {
		a.note("finding %d", i)
		a.suspect(fmt.Sprint("key ", i), "mismatch %d", i)
		if want := min(i+1, 20); len(a.Findings) != want || len(a.Mismatches) != want {
			t.Fatalf("after %d: %d findings and %d mismatches", i+1, len(a.Findings), len(a.Mismatches))
		}
	}
}
