package ledgertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// audit makes a whole pass and returns its receipt and the stranded claims.
func (w *World) audit() (ledger.Receipt, []sale.Claim) {
	w.T.Helper()
	var stranded []sale.Claim
	a := &ledger.Audit{SaleID: "moutai"}
	for range 3 {
		r, err := w.Ledger.Step(w.Ctx, a, func(c sale.Claim) { stranded = append(stranded, c) })
		if err != nil {
			w.T.Fatalf("audit: %v", err)
		}
		if r != nil {
			return *r, stranded
		}
		stranded = nil
	}
	w.T.Fatal("the audit comes to no end")
	return ledger.Receipt{}, nil
}

// tamper changes an item behind the ledger's back.
func (w *World) tamper(pk, sk, update string, values map[string]types.AttributeValue) {
	w.T.Helper()
	in := &dynamodb.UpdateItemInput{
		TableName: &w.Engine.Table, UpdateExpression: &update,
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
		},
	}
	in.ExpressionAttributeValues = values
	if strings.Contains(update, "#shard") { // a reserved word
		in.ExpressionAttributeNames = map[string]string{"#shard": "shard"}
	}
	if _, err := look(w.Ctx, w.Engine.API.UpdateItem, in); err != nil {
		w.T.Fatal(err)
	}
}

func one() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}}
}

var auditing = map[string]func(*testing.T, *World){
	"the receipt of a sale in order is balanced": func(t *testing.T, w *World) {
		w.Open(20, 4)
		refs := w.bought(people(12)...)
		w.confirmed(refs[:7])
		w.Pass(40 * time.Second)
		r, stranded := w.audit()
		want := ledger.Receipt{
			SaleID: "moutai", AsOf: w.Now(), Seeded: 20, Stock: 8, Claims: 12, Pending: 5, Confirmed: 7,
			OldestPendingSeconds: 40, Balanced: true, ClosesAt: Start.Add(time.Hour), ReadUnits: r.ReadUnits,
		}
		if fmt.Sprintf("%+v", r) != fmt.Sprintf("%+v", want) {
			t.Errorf("got  %+v\nwant %+v", r, want)
		}
		if r.ReadUnits < 4+4+7 {
			t.Errorf("%v read units for 8 shard and 7 order reads", r.ReadUnits)
		}
		if len(stranded) != 5 {
			t.Errorf("%d claims are stranded, want the 5 pending ones", len(stranded))
		}
	},
	"a claim within its grace is not stranded": func(t *testing.T, w *World) {
		w.Open(20, 4)
		w.bought("alice")
		w.Pass(ledger.ResendGrace)
		if _, stranded := w.audit(); len(stranded) != 0 {
			t.Errorf("stranded: %v", stranded)
		}
	},
	"each kind of broken books is found": func(t *testing.T, w *World) {
		w.Open(20, 1)
		refs := w.bought("alice", "bob", "carol")
		ids := w.confirmed(refs)
		if r, _ := w.audit(); !r.Balanced {
			t.Fatalf("not balanced before: %v", r.Findings)
		}
		for _, c := range []struct {
			name, pk, sk, breaks, mends, want string
		}{
			{"a unit vanished", "STOCK#moutai#0", "STOCK", "SET stock = stock - :one", "SET stock = stock + :one", "(P1, P2)"},
			{"a unit appeared", "STOCK#moutai#0", "STOCK", "SET stock = stock + :one", "SET stock = stock - :one", "(P1, P2)"},
			{"a seeding nobody ordered", "STOCK#moutai#0", "STOCK", "SET stock = stock + :one, seeded = seeded + :one", "SET stock = stock - :one, seeded = seeded - :one", "(P2)"},
			{"a claim in a shard that does not exist", "CLAIM#moutai#0", "alice", "SET #shard = #shard + :one", "SET #shard = #shard - :one", "(P2)"},
		} {
			w.tamper(c.pk, c.sk, c.breaks, one())
			r, _ := w.audit()
			if r.Balanced || !strings.Contains(strings.Join(r.Findings, "\n"), c.want) {
				t.Errorf("%s: got %+v", c.name, r)
			}
			w.tamper(c.pk, c.sk, c.mends, one())
		}
		order := fmt.Sprintf("ORDER#%d", ids[0])
		w.tamper(order, "ORDER", "SET claimId = :x", map[string]types.AttributeValue{":x": &types.AttributeValueMemberS{Value: "other"}})
		if r, _ := w.audit(); r.Balanced || !strings.Contains(r.Findings[0], "(P7)") {
			t.Errorf("somebody else's order: %+v", r)
		}
	},
	"a missing order item strands its claim, and finalizing it mends that": func(t *testing.T, w *World) {
		w.Open(20, 2)
		refs := w.bought("alice", "bob")
		for i := range refs {
			ctx, dying := w.cutAfter(2) // the sequence, the claim; no order
			if c := dying.Confirm(ctx, refs[i:i+1]); c[0].Err == nil {
				t.Fatal("an order item was written")
			}
		}
		r, stranded := w.audit()
		if r.Missing != 2 || len(stranded) != 2 || r.Confirmed != 2 || !r.Balanced {
			t.Fatalf("got %+v, stranded %v", r, stranded)
		}
		w.Pass(time.Minute)
		if ok, err := w.Ledger.MayResend(w.Ctx, stranded[0]); !ok || err != nil {
			t.Errorf("it may not be sent again: %v", err)
		}
		w.confirmed(refs)
		if r, _ := w.audit(); r.Missing != 0 {
			t.Errorf("got %+v", r)
		}
	},
	"an audit that is cut off after any page goes on and comes to the same receipt": func(t *testing.T, w *World) {
		w.Open(40, 16) // four buckets: four pages
		w.confirmed(w.bought(people(30)...)[:10])
		whole, _ := w.audit()
		for pages := range 8 {
			ctx, dying := w.cutReads(pages)
			a := &ledger.Audit{SaleID: "moutai"}
			stranded := 0
			r, err := dying.Step(ctx, a, func(sale.Claim) { stranded++ })
			for r == nil {
				if err != nil && sale.CodeOf(err) != sale.Busy {
					t.Fatal(err)
				}
				r, err = w.Ledger.Step(w.Ctx, a, func(sale.Claim) { stranded++ })
			}
			if !r.Balanced || r.Claims != whole.Claims || r.Confirmed != whole.Confirmed || r.Pending != whole.Pending || r.Stock != whole.Stock {
				t.Errorf("cut after %d reads: got %+v, want %+v", pages, r, whole)
			}
		}
	},
	"the list of sales tells which are drained, and keeps the cursor": func(t *testing.T, w *World) {
		c := w.Open(4, 2)
		lists := func(want int) []ledger.Listing {
			t.Helper()
			l, err := w.Ledger.Listings(w.Ctx)
			if err != nil || len(l) != want {
				t.Fatalf("got %v (%v), want %d", l, err, want)
			}
			return l
		}
		if l := lists(1); l[0].SaleID != "moutai" || !l[0].ClosesAt.Equal(c.ClosesAt) || l[0].Cursor != nil {
			t.Errorf("got %+v", l)
		}
		a := &ledger.Audit{SaleID: "moutai", Sold: []int64{1, 2}, Claims: []int64{0, 1}, Bucket: 3, After: "用户", Suspects: []int{1}}
		if err := w.Ledger.SaveCursor(w.Ctx, a); err != nil {
			t.Fatal(err)
		}
		if l := lists(1); fmt.Sprintf("%+v", *l[0].Cursor) != fmt.Sprintf("%+v", *a) {
			t.Errorf("got cursor %+v, want %+v", *l[0].Cursor, *a)
		}
		if err := w.Ledger.Drain(w.Ctx, "moutai", c.ClosesAt.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		lists(1) // its end has moved: not drained
		if err := w.Ledger.Drain(w.Ctx, "moutai", c.ClosesAt); err != nil {
			t.Fatal(err)
		}
		lists(0)
		if l, err := w.Ledger.Listing(w.Ctx, "moutai"); err != nil || !l.Drained {
			t.Errorf("got %+v (%v)", l, err)
		}
		if _, err := w.Ledger.Add(w.Ctx, sale.Addition{SaleID: "moutai", SeedID: "s", Stock: 1}); err != nil {
			t.Fatal(err)
		}
		lists(1) // a restock brings it back
		if err := w.Ledger.Drain(w.Ctx, "moutai", c.ClosesAt); err != nil {
			t.Fatal(err)
		}
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour)})
		lists(1) // so does another end
	},
}
