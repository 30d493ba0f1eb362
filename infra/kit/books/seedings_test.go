package books

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEachKindOfBrokenWithdrawalOrLimitIsNamed(t *testing.T) {
	w := withdrawn(t)
	now := w.Now()
	if r := w.balanced(); r.Seeded != 5 || r.Stock != 1 || r.Claims != 4 || len(r.Unfinished)+len(r.NotLookedFor) > 0 {
		t.Fatalf("untouched: %+v", r)
	}
	step := func(number string) key { return key{salePK, "WITHDRAWN#typo#" + number} }
	for _, c := range []struct {
		name    string
		tamper  func(all items)
		promise string
		finds   string
	}{
		{"a step without its units", func(all items) { all.add(salePK, step("0").sk, "units", 1) }, "P15", "created with 3 + 1 added - 3 withdrawn"},
		{"a step that is gone", func(all items) { delete(all, step("0")) }, "P15", `withdrawal "typo" has a step 1, but no step 0`},
		{"a step of another shard", func(all items) { all.add(salePK, step("0").sk, "shard", 1) }, "P15", "it says that"},
		{"a step of a shard that is not there", func(all items) { all.add(salePK, step("0").sk, "shard", 5) }, "P15",
			`withdrawal "typo" took units from shard 5, but the sale has 5 shards`},
		{"a step after the end", func(all items) { all.copy(step("0"), key{salePK, "WITHDRAWN#rest#9"}, nil) }, "P15", `withdrawal "rest" has a step 9, but no step`},
		{"a step too many", func(all items) { all.copy(step("0"), step("4"), nil) }, "P15", `withdrawal "typo" of 5 units has a step 4 after its end`},
		{"an end too many", func(all items) {
			all[step("4")] = item{"pk": text(salePK), "sk": text(step("4").sk), "ended": yes, "at": all[step("0")]["at"]}
		}, "P15", `withdrawal "typo" of 5 units has a step 4 after its end`},
		{"more than was asked for", func(all items) { all.add(salePK, "SEED#typo", "units", 2) }, "P15", `withdrawal "typo" of 3 units took 5: 2 too many`},
		{"a step from before its withdrawal", func(all items) { all.add(salePK, step("0").sk, "at", -hour) }, "P15", `but its step 0 at 2026-11-11T19:00:00.000Z`},
		{"a step of tomorrow", func(all items) { all.add(salePK, step("0").sk, "at", 24*hour) }, "P15", `but its step 0 at 2026-11-12T20:00:00.000Z`},
		{"steps that were never announced", func(all items) { delete(all, key{salePK, "SEED#typo"}) }, "P15",
			`withdrawal "typo" has 4 steps, but its own item SEED#typo is missing`},
		{"an addition with steps", func(all items) { all.add(salePK, "SEED#typo", "units", 10) }, "P15", `"typo" is an addition or a withdrawal, but has receipts of both`},
		{"a withdrawal with receipts of shards", func(all items) { all.add(salePK, "SEED#again", "units", -4) }, "P15", `"again" is an addition or a withdrawal, but has receipts of both`},
		{"a withdrawal of tomorrow", func(all items) { all.add(salePK, "SEED#typo", "at", 24*hour) }, "P15", "which is in the future"},
		{"a withdrawal of nothing", func(all items) { all.set(salePK, "SEED#typo", "units", number("0")) }, "P19", "units is 0"},
		{"an end that is none", func(all items) {
			all.copy(step("0"), step("9"), item{"ended": yes})
		}, "P19", "has attributes that are not documented: shard, units"},
		{"the sale's seeded after a withdrawal", func(all items) { all.add(salePK, "SALE", "seeded", 9) }, "P15",
			"the sale says that 14 units were seeded, should be 5 (created with 12 + 2 added - 9 withdrawn): 9 too many"},
		{"a version without the steps", func(all items) { all.add(salePK, "SALE", "version", -1) }, "P6", "receipts of additions and withdrawals)"},
		{"more room", func(all items) { all.add(salePK, "SALE", "room", 1) }, "P15", "the sale has room for 16 more units, should be 15 (a maxStock of 20): 1 too many"},
		{"no room", func(all items) { delete(all[key{salePK, "SALE"}], "room") }, "P15", "does not say what room is left: nothing limits its additions"},
		{"room without a limit", func(all items) { delete(all[key{salePK, "CREATE"}], "maxStock") }, "P15", "the sale has room for 15 more units, but was created without a maxStock"},
		{"another limit", func(all items) { all.add(salePK, "CREATE", "maxStock", -1) }, "P15", "the sale has room for 15 more units, should be 14 (a maxStock of 19): 1 too many"},
		{"a limit below the stock", func(all items) { all.set(salePK, "CREATE", "maxStock", number("11")) }, "P19", "maxStock is out of range"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := w.items()
			c.tamper(all)
			has(t, all.recount(t, now), c.promise, c.finds)
		})
	}
}

func TestTheSeedingsAreListedInTheirOrderWithWhatTheyDid(t *testing.T) {
	w := newWorld(t)
	w.Open(10, 3)
	opened := w.Now()
	w.Pass(time.Minute)
	w.add("second-batch", 5)
	w.Pass(time.Minute)
	w.withdraw("typo", 100)
	got, err := Seedings(w.Ctx, w.db, tableName, "moutai")
	want := []Seeding{{"second-batch", 5, opened.Add(time.Minute)}, {"typo", -15, opened.Add(2 * time.Minute)}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
