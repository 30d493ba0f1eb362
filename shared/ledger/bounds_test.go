package ledger

import (
	"fmt"
	"testing"

	"flashsale/shared/sale"
)

func TestWhatAnEnvironmentRemembersIsBounded(t *testing.T) {
	l := New(nil, "Ledger", Options{})
	all := make([]*view, maxViews+10)
	for i := range all {
		id := fmt.Sprint("sale-", i)
		all[i] = l.views.of(id)
		l.remaining.Put(edition{id, 1}, Remaining{}, readAt, readAt.Add(1))
	}
	for i := len(all) - 1; i >= 0; i-- { // requesting an evicted sale evicts another one
		id := fmt.Sprint("sale-", i)
		if known := l.views.of(id) == all[i]; known != (i >= 10) {
			t.Fatalf("of %d sales the snapshot of number %d is remembered: %t", len(all), i, known)
		}
		if _, known := l.remaining.Get(edition{id, 1}, readAt); known != (i >= 10) {
			t.Fatalf("of %d sales the count of number %d is remembered: %t", len(all), i, known)
		}
	}
	for i := range 2*maxRecent + 10 {
		l.remember(sale.Claim{SaleID: "moutai", User: fmt.Sprint(i)}, false, readAt)
		_, oldest := l.recent.Get(buyer{"moutai", fmt.Sprint(i - maxRecent + 1)}, readAt)
		_, forgotten := l.recent.Get(buyer{"moutai", fmt.Sprint(i - maxRecent)}, readAt)
		if oldest != (i >= maxRecent-1) || forgotten {
			t.Fatalf("after %d claims the oldest of %d is remembered: %t, the one before: %t", i+1, maxRecent, oldest, forgotten)
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
