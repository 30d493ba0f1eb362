package books

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

func TestASaleForANewerReleaseIsNotRecountedAndHidesNoOther(t *testing.T) {
	for _, k := range []key{{"SALE#moutai", "SALE"}, {"SALES", "moutai"}} {
		w := newWorld(t)
		w.Open(8, 2)
		c := w.Sale(4, 1)
		c.SaleID = "other"
		w.Create(c)
		for _, version := range []int64{reads, reads + 1} {
			it := w.Item(k.pk, k.sk)
			add := version
			if it["minReader"] != nil {
				add = 1
			}
			if err := w.db.Tamper(w.Ctx, tableName, k.pk, k.sk, "minReader", add); err != nil {
				t.Fatal(err)
			}
			isNewer := version > reads
			_, err := Recount(w.Ctx, w.db, tableName, "moutai", at(w.Now()))
			if errors.Is(err, ErrNewerVersion) != isNewer || isNewer && !strings.Contains(err.Error(), "needs version 3, and this recount reads version 2") {
				t.Errorf("%v at version %d: %v", k, version, err)
			}
			if _, err := Recount(w.Ctx, w.db, tableName, "other", at(w.Now())); err != nil {
				t.Errorf("%v at version %d, another sale: %v", k, version, err)
			}
		}
		list, err := Sales(w.Ctx, w.db, tableName)
		if err != nil || len(list) != 2 || list[0].Newer != (k.pk == "SALES") || list[1].Newer || list[0].SaleID != "moutai" {
			t.Errorf("%v: the list is %+v (%v)", k, list, err)
		}
	}
}

func TestAListingThatIsNotAsDocumentedHidesNoSale(t *testing.T) {
	w := newWorld(t)
	w.Open(8, 2)
	all := w.items()
	delete(all[key{"SALES", "moutai"}], "closesAt")
	db := load(t, all)
	list, err := Sales(w.Ctx, db, tableName)
	if err != nil || len(list) != 1 || list[0].SaleID != "moutai" {
		t.Errorf("the list is %+v (%v)", list, err)
	}
	has(t, all.recount(t, w.Now()), "P19", "the item SALES, moutai is not as documented: closesAt is not a number")
}

func TestAMinReaderThatIsNoVersionIsAFinding(t *testing.T) {
	w := newWorld(t)
	w.Open(8, 2)
	all := w.items()
	k := key{"SALE#moutai", "SALE"}
	all[k] = maps.Clone(all[k])
	all[k]["minReader"] = text("x")
	if r := all.recount(t, w.Now()); r.Balanced {
		t.Error("nothing is found")
	}
}
