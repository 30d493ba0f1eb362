package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// operations are everything that a release may be asked to do with a sale; book is an
// environment without a memory, and claim is of a user of the sale.
var operations = map[string]func(w *World, book *ledger.Ledger, claim sale.Claim, created sale.Creation) error{
	"purchase": func(w *World, book *ledger.Ledger, _ sale.Claim, _ sale.Creation) error {
		_, err := book.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "bob"})
		return err
	},
	"repeat a purchase": func(w *World, book *ledger.Ledger, c sale.Claim, _ sale.Creation) error {
		_, err := book.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: c.User, Key: "key"})
		return err
	},
	"read the sale": func(w *World, book *ledger.Ledger, _ sale.Claim, _ sale.Creation) error {
		_, err := book.Sale(w.Ctx, "moutai")
		return err
	},
	"read a claim": func(w *World, book *ledger.Ledger, c sale.Claim, _ sale.Creation) error {
		_, err := book.Claim(w.Ctx, "moutai", c.User)
		return err
	},
	"create": func(w *World, book *ledger.Ledger, _ sale.Claim, created sale.Creation) error {
		_, err := book.Create(w.Ctx, created)
		return err
	},
	"add": func(w *World, book *ledger.Ledger, _ sale.Claim, _ sale.Creation) error {
		_, err := book.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 2})
		return err
	},
	"withdraw": func(w *World, book *ledger.Ledger, _ sale.Claim, _ sale.Creation) error {
		_, err := book.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "less", Stock: 2})
		return err
	},
	"edit": func(w *World, book *ledger.Ledger, _ sale.Claim, _ sale.Creation) error {
		paused := true
		_, err := book.Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: &paused})
		return err
	},
	"confirm": func(w *World, book *ledger.Ledger, c sale.Claim, _ sale.Creation) error {
		return book.Confirm(w.Ctx, []ledger.ClaimRef{{SaleID: "moutai", User: c.User, ClaimID: c.ID}})[0].Err
	},
	"audit": func(w *World, book *ledger.Ledger, _ sale.Claim, _ sale.Creation) error {
		_, err := book.Step(w.Ctx, &ledger.Audit{SaleID: "moutai"}, func(sale.Claim) {})
		return err
	},
	"send a message again": func(w *World, book *ledger.Ledger, c sale.Claim, _ sale.Creation) error {
		_, err := book.MarkResent(w.Ctx, c, false)
		return err
	},
}

var versions = map[string]func(*testing.T, *World){
	"a sale of the version that this release reads is a sale like any other": func(t *testing.T, w *World) {
		w.Open(20, 4)
		w.needs("SALE#moutai", "SALE", sale.Reads)
		w.needs("SALES", "moutai", sale.Reads)
		refs := w.bought("alice")
		if n := w.Number("CLAIM#moutai#0", "alice", "minReader"); n != sale.Reads {
			t.Errorf("the claim says minReader %d, want its sale's", n)
		}
		w.confirmed(refs)
		if r, _ := w.audit(); !r.Balanced || r.Confirmed != 1 {
			t.Errorf("got %+v", r)
		}
		if l, err := w.Ledger.Listing(w.Ctx, "moutai"); err != nil || l.SaleID != "moutai" {
			t.Errorf("got %+v (%v)", l, err)
		}
	},
	"a sale without a minReader writes none": func(t *testing.T, w *World) {
		w.Open(20, 4)
		w.bought("alice")
		for _, k := range [][2]string{{"SALE#moutai", "SALE"}, {"SALES", "moutai"}, {"CLAIM#moutai#0", "alice"}, {"STOCK#moutai#0", "STOCK"}} {
			if v := w.Item(k[0], k[1])["minReader"]; v != nil {
				t.Errorf("%v has minReader %v", k, v)
			}
		}
	},
	"a sale of a newer version is refused by everything, and nothing is written": func(t *testing.T, w *World) {
		created := w.Open(20, 4)
		p := w.Accepted(w.BuyWith("alice", "key"))
		w.needs("SALE#moutai", "SALE", sale.Reads+1)
		w.Pass(time.Hour - time.Minute)
		before := w.everything()
		for name, operation := range operations {
			err := operation(w, w.Environment(), p.Claim, created)
			if e := w.Refused(sale.NewerVersion, err); e.Detail != fmt.Sprintf("stored for version %d, and this release reads version %d", sale.Reads+1, sale.Reads) {
				t.Errorf("%s: the operator is told %q", name, e.Detail)
			}
		}
		if w.everything() != before {
			t.Error("something was written")
		}
	},
	"a minReader that is no version is refused, too": func(t *testing.T, w *World) {
		w.Open(20, 4)
		for _, wrong := range []any{"2", 0, -1} {
			w.needs("SALE#moutai", "SALE", wrong)
			_, err := w.Environment().Sale(w.Ctx, "moutai")
			w.Refused(sale.Internal, err)
		}
		w.needs("SALE#moutai", "SALE", 1)
		if _, err := w.Environment().Sale(w.Ctx, "moutai"); err != nil {
			t.Errorf("version 1: %v", err)
		}
	},
	"a claim of a newer version is not confirmed, although its sale is not read": func(t *testing.T, w *World) {
		w.Open(20, 4)
		ref := w.bought("alice")[0]
		ref.Buckets = sale.BucketsFor(4)
		w.needs("CLAIM#moutai#0", "alice", sale.Reads+1)
		before := w.everything()
		w.Refused(sale.NewerVersion, w.Environment().Confirm(w.Ctx, []ledger.ClaimRef{ref})[0].Err)
		if w.everything() != before {
			t.Error("something was written")
		}
	},
	"instants of the release that adds the grace to them delay a claim by the grace, once": func(t *testing.T, w *World) {
		c := w.Sale(9, 8) // two buckets
		c.PayWithin, c.ClosesAt = payWithin, c.OpensAt.Add(2*time.Hour)
		w.Create(c)
		users := usersOf(0, 2, 3)
		set := func(update string, values map[string]types.AttributeValue) {
			w.tamper("SALES", "moutai", update, values)
		}
		instant := func(at time.Time) types.AttributeValue {
			return &types.AttributeValueMemberN{Value: fmt.Sprint(at.UnixMilli())}
		}
		for i, tt := range []struct {
			of    string
			store func(due time.Time)
			late  time.Duration
		}{
			{"a complete pass of that release", func(due time.Time) {
				set("SET nextDue = :due", map[string]types.AttributeValue{":due": instant(due)})
				w.Pass(grace) // a pass before that sees that the instant lies too far ahead
			}, grace},
			{"a pass of that release that has read the claim and was cut off", func(due time.Time) {
				pass := fmt.Sprintf(`{"began":%q,"bucket":1,"nextDue":%q}`, w.Now().Format(time.RFC3339), due.Format(time.RFC3339))
				set("SET nextDue = :now, releasing = :pass", map[string]types.AttributeValue{
					":now": instant(w.Now()), ":pass": &types.AttributeValueMemberS{Value: pass},
				})
			}, grace},
			{"this release", func(time.Time) {}, 0},
		} {
			t.Log(tt.of)
			w.Pass(time.Second)
			due := orderid.Time(w.Ordered(users[i])[0]).Add(payWithin + grace)
			tt.store(due)
			w.releases(0, 0)
			w.Pass(due.Add(tt.late).Sub(w.Now()) - time.Millisecond)
			w.releases(0, 0)
			w.Pass(time.Millisecond)
			w.releases(1, 1)
		}
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
			if sale.CodeOf(l.Err) != want {
				t.Errorf("%s: %v, want %q", l.SaleID, l.Err, want)
			}
		}
		_, err = w.Ledger.Listing(w.Ctx, "newer")
		w.Refused(sale.NewerVersion, err)
	},
}
