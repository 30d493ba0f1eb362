package books

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAGlanceSeesTheSaleAsTheBooksDo(t *testing.T) {
	w := newWorld(t)
	w.Open(60, 6)
	w.confirm(w.buy(0, 12)[:5])
	all, err := Read(w.Ctx, w.db, tableName)
	if err != nil {
		t.Fatal(err)
	}
	want := all.Sale("moutai")
	if want.Name == "" || len(want.Claims) != 12 || len(want.Shards) != 6 {
		t.Fatalf("the books have %+v", want)
	}
	got, err := Glance(w.Ctx, w.db, tableName, "moutai", 1000)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Sale{}, "Orders"), cmpopts.IgnoreUnexported(Claim{}), cmpopts.SortSlices(func(a, b Claim) bool { return a.User < b.User })); diff != "" {
		t.Errorf("a glance differs (-books +glance):\n%s", diff)
	}
	if got, err = Glance(w.Ctx, w.db, tableName, "moutai", 4); err != nil || len(got.Claims) > 4 || len(got.Shards) != 6 {
		t.Errorf("a glance at four claims has %d and %d shards, %v", len(got.Claims), len(got.Shards), err)
	}
	for _, none := range []string{"other", "", "no/id"} {
		if _, err := Glance(w.Ctx, w.db, tableName, none, 4); !errors.Is(err, ErrNoSale) {
			t.Errorf("%q: %v, want %v", none, err, ErrNoSale)
		}
	}
}
