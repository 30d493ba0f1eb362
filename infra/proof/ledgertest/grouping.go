package ledgertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// shown are the ids of the sales that a group shows.
func (w *World) shown(group string) (ids []string) {
	w.T.Helper()
	sales, err := w.Environment().Sales(w.Ctx, group)
	w.Succeeds(nil, err)
	for _, s := range sales {
		ids = append(ids, s.ID)
	}
	return ids
}

var grouping = map[string]func(*testing.T, *World){
	"a user orders once in a group, whatever the shards of its sales": func(t *testing.T, w *World) {
		w.openIn("shoe", "size-38", 1)
		w.openIn("shoe", "size-39", 9) // three buckets
		gives(t, "")(w.Ledger.OrderedIn(w.Ctx, "shoe", "user-0"))
		for i := range 9 {
			user := fmt.Sprint("user-", i)
			first := []string{"size-38", "size-39"}[i%2]
			w.Accepted(w.buyIn(first, user))
			gives(t, first, "%s", user)(w.Ledger.OrderedIn(w.Ctx, "shoe", user))
			for _, second := range []string{"size-38", "size-39"} {
				p, err := w.buyIn(second, user)
				refused := w.Refused(sale.AlreadyOrdered, err)
				other := first
				if second == first {
					other = ""
				}
				if refused.OtherSale != other || (refused.Claim == nil) != (other != "") || (p.Claim.ID == "") != (other != "") {
					t.Errorf("%s has ordered in %s and asks in %s: %+v, %+v", user, first, second, refused, p)
				}
			}
		}
	},
	"an order that was cancelled bars the other sales of its group": func(_ *testing.T, w *World) {
		c := w.Sale(9, 1)
		c.SaleID, c.LimitGroup, c.PayWithin = "size-38", "shoe", payWithin
		w.Create(c)
		w.openIn("shoe", "size-39", 1)
		w.orderedIn("size-38", "alice")
		w.Succeeds(w.Ledger.Cancel(w.Ctx, "size-38", "alice"))
		w.Refused(sale.AlreadyOrdered, errOf(w.buyIn("size-39", "alice")))
	},
	"what a group adds is for readers of its version": func(t *testing.T, w *World) {
		var p ledger.PurchaseResult
		w.published(func() { // it is no event
			w.openIn("shoe", "size-38", 1)
			p = w.Accepted(w.buyIn("size-38", "alice"))
		})
		guard := guardOf("alice")
		for _, k := range [][2]string{{"SALE#size-38", "SALE"}, {"SALES", "size-38"}, {"CLAIM#size-38#0", "alice"}, {guard, "alice"}} {
			w.hasNumber(sale.ReadsGroups, k[0], k[1], "minReader")
		}
		g := w.Item(guard, "alice")
		check(t, value(g["saleId"]) == "size-38" && value(g["claimId"]) == p.Claim.ID, "the guard is %v", g)
		w.needs(guard, "alice", sale.Reads+1)
		w.openIn("shoe", "size-39", 1)
		w.Refused(sale.Internal, errOf(w.buyIn("size-39", "alice")))
	},
	"a group shows its sales in the order of their ids, and no drafts": func(t *testing.T, w *World) {
		w.Refused(sale.GroupNotFound, errOf(w.Ledger.Group(w.Ctx, "shoe")))
		w.openIn("shoe", "size-39", 1)
		w.Refused(sale.GroupNotFound, errOf(w.Ledger.Group(w.Ctx, "shoe"))) // it is remembered for two seconds
		w.Pass(2 * time.Second)
		draft := w.Sale(9, 2)
		draft.SaleID, draft.LimitGroup = "size-40", "shoe"
		w.drafts(draft)
		w.openIn("shoe", "size-38", 1)
		w.Accepted(w.buyIn("size-38", "alice"))
		members, err := w.Ledger.Group(w.Ctx, "shoe")
		if err != nil || len(members) != 2 || members[0].Sale.ID != "size-38" || members[0].Remaining.Units != 8 ||
			members[1].Sale.ID != "size-39" || members[1].Remaining.Units != 9 || members[1].Sale.LimitGroup != "shoe" {
			t.Errorf("got %+v (%v)", members, err)
		}
		standings, err := w.Environment().GroupStandings(w.Ctx, "shoe")
		if err != nil || len(standings) != 3 || standings[0].SaleID != "size-38" || standings[0].Sale.Seeded != 9 || standings[2].Sale.State != sale.Draft {
			t.Errorf("they stand %+v (%v)", standings, err)
		}
		w.Refused(sale.GroupNotFound, errOf(w.Ledger.GroupStandings(w.Ctx, "hat")))
		w.Create(draft)
		got := w.shown("shoe")
		check(t, slices.Equal(got, []string{"size-38", "size-39", "size-40"}), "got %v", got)
		w.tamper("SALE#size-39", "SALE", "REMOVE shards", nil) // one that cannot be read is no draft
		w.Refused(sale.Internal, errOf(w.Environment().Group(w.Ctx, "shoe")))
	},
	"a group has 30 sales at most, and their creations may be repeated": func(t *testing.T, w *World) {
		var last sale.Creation
		for i := range sale.MaxGroup {
			last = w.openIn("shoe", fmt.Sprintf("size-%02d", i), 1)
		}
		before := w.everything()
		one := last
		one.SaleID = "one-more"
		w.refusedBecause("the group has 30 sales, and cannot have more", sale.Conflicting, errOf(w.Ledger.Create(w.Ctx, one)))
		s := w.Create(last)
		check(t, !s.Applied, "the repeat was applied")
		check(t, w.everything() == before && w.Item("SALE#one-more", "SALE") == nil, "something was written")
		hasLen(t, w.shown("shoe"), sale.MaxGroup)
	},
}
