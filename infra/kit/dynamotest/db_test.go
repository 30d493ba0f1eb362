package dynamotest

import (
	"testing"
)

func TestASnapshotRestoresItemsAndLateRequests(t *testing.T) {
	db, c := stocked(t, "9"), newClock()
	db.Now, db.Busy = c.now, 0
	if _, err := db.TransactWriteItems(t.Context(), buy("alice")); err != nil {
		t.Fatal(err)
	}
	db.Fault = only(Fault{Kind: ApplyLate})
	_, _ = db.TransactWriteItems(t.Context(), buy("late"))
	db.Fault = nil
	before, s := db.Dump(), db.Snapshot()
	for range 3 {
		if db.ApplyPending() != 1 || db.Dump() == before {
			t.Fatal("the late request did not apply")
		}
		if _, err := db.TransactWriteItems(t.Context(), buy("bob")); err != nil {
			t.Fatal(err)
		}
		db.Restore(s)
		if db.Dump() != before || db.Pending() != 1 {
			t.Fatalf("restored %s, %d pending", db.Dump(), db.Pending())
		}
	}
}
