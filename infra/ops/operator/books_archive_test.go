package operator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/ops/cli"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

func TestASaleIsDeletedOnlyOnceItsArchiveIsReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Name: "Moutai", Stock: 9, Price: 89900})
		pay(t, book, "pi_1", ordered(t, book, "alice"), 89900)
		name := filepath.Join(t.TempDir(), "mou'tai$HOME.jsonl")
		write, prune := "books archive moutai --file "+name, "books prune moutai --yes --file "+name
		tells(t, db, write, cli.ExitBad, "NOT ARCHIVED: the sale moutai may be archived from ")
		drained(t, book)
		time.Sleep(maintenance.ArchiveAfter)
		tells(t, db, write+"/nowhere", cli.ExitBad, "nothing was archived: ")
		tells(t, db, write+"/nowhere --dry-run", cli.ExitBad, "nothing would be archived: ")
		tells(t, db, write+" --dry-run", cli.ExitFine, name+" would get ", " 1 claims with their orders; digest ", "nothing was written")
		if _, err := os.Stat(name); err == nil {
			t.Error("a dry run has written the file")
		}
		tells(t, db, write, cli.ExitFine, "nothing was deleted", "`flashsale books prune moutai --file '"+strings.ReplaceAll(name, "'", `'\''`)+"'` with that copy")
		tells(t, db, write+" --dry-run", cli.ExitBad, "nothing would be archived: "+name+" exists")
		tells(t, db, write, cli.ExitBad, "file exists")
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name+".cut", whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		before := len(db.Items("T"))
		tells(t, db, prune+".cut", cli.ExitBad, "NOT ARCHIVED: the archive is cut off")
		if after := len(db.Items("T")); after != before {
			t.Errorf("%d items were deleted", before-after)
		}
		tells(t, db, strings.Replace(prune, " --yes", "", 1), cli.ExitUsage, "asks before it goes on")
		tells(t, db, prune+" --dry-run", cli.ExitFine, "moutai: 1 claims with their orders would be deleted", "nothing was changed")
		if after := len(db.Items("T")); after != before {
			t.Errorf("%d items were deleted", before-after)
		}
		tells(t, db, prune, cli.ExitFine, "moutai is archived: 1 claims with their orders were deleted; digest ")
		if after := len(db.Items("T")); after != before-2 {
			t.Errorf("%d items were deleted, want a claim and its order", before-after)
		}
		tells(t, db, "books receipt moutai", cli.ExitFine, "archived at 2027-02-09T14:00:00.000Z: 1 claims with their orders, digest ", "balanced: stock left + archived claims")
		tells(t, db, "order list moutai", cli.ExitBad, "the sale moutai was archived on 2027-02-09")
	})
}
