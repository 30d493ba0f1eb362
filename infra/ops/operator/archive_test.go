package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/kit/books"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

func TestASaleIsDeletedOnlyOnceItsArchiveIsReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Name: "Moutai", Stock: 9, Price: 89900})
		order := ordered(t, book, "alice")
		pay(t, book, "pi_1", order, 89900)
		name := filepath.Join(t.TempDir(), "moutai.jsonl")
		does := func(act string, file string, fails error, want string) {
			t.Helper()
			var out bytes.Buffer
			run := writeArchive
			if act == "delete" {
				run = deleteArchived
			}
			err := notDone("ARCHIVED", run(t.Context(), book, "moutai", file, &out), &out)
			if said := out.String(); fails != nil && !errors.Is(err, fails) || fails == nil && err != nil || !strings.Contains(said, want) {
				t.Errorf("%s %s: got %v and %q, want %v and %q", act, file, err, said, fails, want)
			}
		}
		does("write", name, errNotDone, "NOT ARCHIVED: the sale moutai may be archived from ")
		drained(t, book)
		time.Sleep(maintenance.ArchiveAfter)
		if err := notDone("ARCHIVED", writeArchive(t.Context(), book, "moutai", filepath.Join(name, "nowhere"), io.Discard), io.Discard); err == nil || errors.Is(err, errNotDone) {
			t.Errorf("a destination that refuses: %v", err)
		}
		does("write", name, nil, "nothing was deleted")
		if err := notDone("ARCHIVED", writeArchive(t.Context(), book, "moutai", name, io.Discard), io.Discard); err == nil {
			t.Error("a file that is there is overwritten")
		}
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		cut := name + ".cut"
		if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(db.Items("T"))
		does("delete", cut, errNotDone, "NOT ARCHIVED: the archive is cut off")
		if after := len(db.Items("T")); after != before {
			t.Errorf("%d items were deleted", before-after)
		}
		does("delete", name, nil, "moutai is archived: 1 claims with their orders were deleted; digest ")
		if after := len(db.Items("T")); after != before-2 {
			t.Errorf("%d items were deleted, want a claim and its order", before-after)
		}
		var out bytes.Buffer
		if err := recountEach(t.Context(), table{db}, "T", []string{"moutai"}, books.Options{}, false, &out); err != nil || !strings.Contains(out.String(), "archived at 2027-02-09T14:00:00.000Z: 1 claims with their orders, digest ") ||
			!strings.Contains(out.String(), "balanced: stock left + archived claims") {
			t.Errorf("%v after\n%s", err, &out)
		}
		if err := writeOrders(t.Context(), ledger.New(db, "T", ledger.Options{}), "moutai", "", false, io.Discard); err == nil || !strings.Contains(err.Error(), "the sale moutai was archived on 2027-02-09") {
			t.Errorf("the list of orders: %v", err)
		}
	})
}
