package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

func TestASaleIsDeletedOnlyOnceItsArchiveIsReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Name: "Moutai", Stock: 9, Price: 89900})
		pay(t, book, "pi_1", ordered(t, book, "alice"), 89900)
		name := filepath.Join(t.TempDir(), "moutai.jsonl")
		write := "archive -sale moutai -file " + name
		tells(t, db, write, errNotDone, "NOT ARCHIVED: the sale moutai may be archived from ")
		drained(t, book)
		time.Sleep(maintenance.ArchiveAfter)
		tells(t, db, write+"/nowhere", errOther, "nothing was archived: ")
		tells(t, db, write, nil, "nothing was deleted")
		tells(t, db, write, errOther, "file exists")
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name+".cut", whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(db.Items("T"))
		tells(t, db, write+".cut -go", errNotDone, "NOT ARCHIVED: the archive is cut off")
		if after := len(db.Items("T")); after != before {
			t.Errorf("%d items were deleted", before-after)
		}
		tells(t, db, write+" -go", nil, "moutai is archived: 1 claims with their orders were deleted; digest ")
		if after := len(db.Items("T")); after != before-2 {
			t.Errorf("%d items were deleted, want a claim and its order", before-after)
		}
		tells(t, db, "receipt -sale moutai", nil, "archived at 2027-02-09T14:00:00.000Z: 1 claims with their orders, digest ", "balanced: stock left + archived claims")
		tells(t, db, "orders -sale moutai", errOther, "the sale moutai was archived on 2027-02-09")
	})
}
