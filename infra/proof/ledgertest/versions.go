package ledgertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

var versions = map[string]func(*testing.T, *World){
	"a sale of a newer version is refused by everything, and nothing is written": func(t *testing.T, w *World) {
		created := w.Open(20, 4)
		c := w.Accepted(w.BuyWith("alice", "key")).Claim
		w.needs("SALE#moutai", "SALE", sale.Reads+1)
		w.Pass(time.Hour - time.Minute)
		before := w.everything()
		why := fmt.Sprintf("stored for version %d, and this program reads version %d", sale.Reads+1, sale.Reads)
		for name, err := range map[string]error{
			"purchase":             w.buys("bob"),
			"repeat a purchase":    w.buysWith("alice", "key"),
			"read the sale":        errOf(w.Environment().Sale(w.Ctx, "moutai")),
			"read a claim":         errOf(w.Environment().Claim(w.Ctx, "moutai", "alice")),
			"create":               errOf(w.Environment().Create(w.Ctx, created)),
			"add":                  errOf(w.change(sale.ActionAdd, "more", sale.Author{})),
			"withdraw":             errOf(w.change(sale.ActionWithdraw, "less", sale.Author{})),
			"edit":                 errOf(w.change(sale.ActionPause, "pause", sale.Author{})),
			"confirm":              w.Environment().Confirm(w.Ctx, []ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: c.ID}})[0].Err,
			"audit":                errOf(w.Environment().Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})),
			"send a message again": errOf(w.Environment().MarkResent(w.Ctx, c, false)),
		} {
			got := sale.CodeOf(err)
			check(t, got == sale.NewerVersion && strings.Contains(err.Error(), why), "%s: got %v, want %q", name, err, why)
		}
		w.unchanged(before)
	},
	"what a later version adds to items that this one may read is kept": func(t *testing.T, w *World) {
		w.OpenPriced(4, 1)
		ref := w.bought("alice")[0]
		items := [][2]string{{"SALE#moutai", "SALE"}, {"SALES", "moutai"}, {"STOCK#moutai#0", "STOCK"}, {"CLAIM#moutai#0", "alice"}}
		for _, it := range items {
			w.tamper(it[0], it[1], "SET ofLater = :x", text("kept"))
		}
		w.Settles(PaymentOf(w.Confirmed([]ledger.ClaimRef{ref})[0], "pi_1"))
		w.Ordered("bob")
		w.Cancels("bob")
		w.Add("second-batch", 2)
		w.changes("moutai", sale.ActionPause, "p1", sale.Author{})
		for _, it := range items {
			same(t, value(w.Item(it[0], it[1])["ofLater"]), value(text("kept")[":x"]), "%s %s", it[0], it[1])
		}
		w.states(map[string]sale.ClaimState{"alice": sale.Paid, "bob": sale.Cancelled})
	},
	"a claim of a newer version is not confirmed, although its sale is not read": func(t *testing.T, w *World) {
		w.Open(20, 4)
		ref := w.bought("alice")[0]
		ref.Buckets = sale.BucketsFor(4)
		w.needs("CLAIM#moutai#0", "alice", sale.Reads+1)
		before := w.everything()
		w.Refused(sale.NewerVersion, w.Environment().Confirm(w.Ctx, []ledger.ClaimRef{ref})[0].Err)
		w.unchanged(before)
	},
	"a listing of a newer version does not hide the others": func(t *testing.T, w *World) {
		for _, id := range []string{"a", "newer", "z"} {
			c := w.Sale(4, 1)
			c.SaleID = id
			w.Create(c)
		}
		w.needs("SALES", "newer", sale.Reads+1)
		all, err := w.Ledger.Listings(w.Ctx)
		if err != nil || len(all) != 3 {
			t.Fatalf("got %+v (%v), want three", all, err)
		}
		for _, l := range all {
			want := sale.Code("")
			if l.SaleID == "newer" {
				want = sale.NewerVersion
			}
			check(t, sale.CodeOf(l.Err) == want, "%s: %v, want %q", l.SaleID, l.Err, want)
		}
		w.Refused(sale.NewerVersion, errOf(w.Ledger.Listing(w.Ctx, "newer")))
	},
}
