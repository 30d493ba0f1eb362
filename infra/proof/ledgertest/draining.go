package ledgertest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// cutPass begins a pass that is cut off after bucket 0 of a sale of four buckets.
func (w *World) cutPass() *ledger.Audit {
	w.T.Helper()
	a := &ledger.Audit{SaleID: "moutai"}
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	// The claims of other buckets cannot be read once bucket 0 is read.
	onlyBucket0 := w.Hooked(func(_ string, in any, call func() (any, error)) (any, error) {
		query, isQuery := in.(*dynamodb.QueryInput)
		switch {
		case !isQuery:
		case query.ExpressionAttributeValues[":pk"].(*types.AttributeValueMemberS).Value != "CLAIM#moutai#0":
			<-begun
			return nil, &smithy.GenericAPIError{Code: "AccessDeniedException"}
		default:
			out, err := call()
			if page, _ := out.(*dynamodb.QueryOutput); page != nil && len(page.LastEvaluatedKey) == 0 {
				begin()
			}
			return out, err
		}
		return call()
	})
	r, err := onlyBucket0.Step(w.Ctx, a, func(sale.Claim) {})
	if r != nil || err == nil || len(a.Positions) != 3 || a.Positions[0].Bucket != 1 {
		w.T.Fatalf("got %+v (%v), places %v, want the other buckets left", r, err, a.Positions)
	}
	return a
}

// drained tries to drain the sale by a receipt.
func (w *World) drained(r ledger.Receipt) bool {
	w.T.Helper()
	done, err := w.Ledger.Drain(w.Ctx, &r)
	w.Succeeds(nil, err)
	listed, err := w.Ledger.Listing(w.Ctx, "moutai")
	if err != nil || listed.Drained != done || done && (listed.Books == nil || listed.Books.AsOf != r.AsOf) {
		w.T.Fatalf("drain says %t, the listing %+v (%v)", done, listed, err)
	}
	return done
}

// drains audits the sale and drains it, or ends the test.
func (w *World) drains() ledger.Receipt {
	w.T.Helper()
	r, _ := w.audit()
	if !w.drained(r) {
		w.T.Fatalf("not drained: %+v", r)
	}
	return r
}

// pendsLate buys after the end, in an environment whose clock is slower than any may be.
func (w *World) pendsLate(user string) []ledger.ClaimRef {
	w.T.Helper()
	slow := ledger.New(w.Engine.API, w.Engine.Table, ledger.Options{Now: func() time.Time { return w.Now().Add(-2 * ledger.DrainAfter) }})
	p := w.Accepted(slow.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user}))
	return []ledger.ClaimRef{{SaleID: "moutai", User: user, ClaimID: p.Claim.ID}}
}

// ends lets the sale end and drains it.
func (w *World) ends(c sale.Creation) {
	w.T.Helper()
	w.moment(c.ClosesAt.Add(ledger.DrainAfter))
	w.drains()
}

// drainsUnsold drains another sale that is over and has sold nothing.
func (w *World) drainsUnsold(saleID string) {
	w.T.Helper()
	r, err := w.Ledger.Step(w.Ctx, &ledger.Audit{SaleID: saleID}, func(sale.Claim) {})
	if err != nil || r == nil {
		w.T.Fatal(r, err)
	}
	if done, err := w.Ledger.Drain(w.Ctx, r); err != nil || !done {
		w.T.Fatalf("not drained: %+v (%v)", r, err)
	}
}

var draining = map[string]func(*testing.T, *World){
	"only a pass that began long after the end finishes a sale": func(t *testing.T, w *World) {
		c := w.Open(40, 16) // four buckets
		w.Confirmed(w.bought(usersOf(0, 4, 3)...))
		w.Pass(c.ClosesAt.Sub(w.Now()) - time.Second)
		a := w.cutPass()
		late := w.bought(usersOf(0, 4, 5)[3:]...) // after their bucket was read, and their messages are lost
		w.Pass(time.Second + 2*ledger.DrainAfter)
		r, _ := w.auditFrom(a)
		check(t, !r.Finished && r.Pending == 0, "got %+v, want an unfinished sale of which the pass has not seen the last claims", r)
		r, _ = w.auditFrom(a.Next())
		check(t, !r.Finished && r.Pending == 2, "got %+v, want an unfinished sale with 2 pending claims", r)
		w.Confirmed(late)
		r, _ = w.auditFrom(a.Next())
		check(t, r.Finished && w.drained(r), "got %+v, want a finished sale", r)
	},
	"a purchase that slips into the last pass keeps it from finishing the sale": func(t *testing.T, w *World) {
		c := w.Open(40, 16) // four buckets
		w.Confirmed(w.bought(usersOf(0, 4, 3)...))
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		a := w.cutPass()
		w.pendsLate(usersOf(0, 4, 4)[3])
		r, _ := w.auditFrom(a)
		check(t, !r.Finished, "got %+v, of which the pass has not seen the last claim", r)
	},
	"a pass that finishes a sale looks at every order, and no other looks again at what was there": func(t *testing.T, w *World) {
		c := w.Open(20, 2)
		w.Confirmed(w.bought("alice"))
		w.confirmedWithoutOrder(w.bought("bob")[0])
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		carol := w.pendsLate("carol")
		a := &ledger.Audit{SaleID: "moutai", OrdersFrom: w.Now().Add(-2 * time.Minute)}
		r, _ := w.auditFrom(a)
		check(t, !r.Finished && r.Pending == 1 && r.Missing == 0, "got %+v, want no look at an order of long ago while another is pending", r)
		w.Confirmed(carol)
		for range 2 {
			a = a.Next()
			r, stranded := w.auditFrom(a)
			check(t, !r.Finished && r.Missing == 1 && len(stranded) == 1, "got %+v, stranded %v, want the order of long ago found missing", r, stranded)
			w.Pass(time.Minute)
		}
		if a = a.Next(); len(a.Absent) != 1 || a.OrdersFrom.IsZero() {
			t.Errorf("got %+v, want only the missing order looked at again", a)
		}
		ahead := &ledger.Audit{SaleID: "moutai", OrdersFrom: w.Now().Add(-2*time.Minute + time.Millisecond)}
		w.pendsLate("dave")
		r, _ = w.auditFrom(ahead)
		check(t, r.Missing == 1, "got %+v, want every order looked at after a pass whose clock was ahead", r)
	},
	"a sale is finished a quarter of an hour after the end of every shard, to the millisecond": func(t *testing.T, w *World) {
		c := w.Open(20, 2)
		w.Confirmed(w.bought("alice"))
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter - time.Millisecond)
		r, _ := w.audit()
		check(t, !r.Finished, "a millisecond early: got %+v", r)
		w.Pass(time.Millisecond)
		w.tamper("STOCK#moutai#1", "STOCK", "SET closesAt = closesAt + :one", one()) // an edit that was cut off
		r, _ = w.audit()
		check(t, !r.Finished, "a shard closed later: got %+v", r)
		w.Pass(time.Millisecond)
		r, _ = w.audit()
		check(t, r.Finished, "got %+v, want a finished sale", r)
		ctx, dying := w.cutAfter(1) // the sale, no shard
		w.Refused(sale.Busy, errOf(dying.Edit(ctx, sale.Edit{SaleID: "moutai", At: w.Now(), OpensAt: c.OpensAt, ClosesAt: w.Now().Add(time.Hour)})))
		r, _ = w.audit()
		check(t, !r.Finished, "a longer sale of which the shards do not know yet: got %+v", r)
	},
	"whatever happens to a sale while a pass looks at it keeps the pass from draining it": func(t *testing.T, w *World) {
		c := w.Open(20, 2)
		w.Confirmed(w.bought("alice"))
		w.Pass(c.ClosesAt.Sub(w.Now()) + 2*ledger.DrainAfter)
		reschedule := func(closesAt time.Time) {
			w.Pass(time.Millisecond)
			w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), OpensAt: c.OpensAt, ClosesAt: closesAt})
		}
		for name, change := range map[string]func(){
			"another end":                     func() { reschedule(c.ClosesAt.Add(time.Hour)) },
			"another end and back to the old": func() { reschedule(c.ClosesAt.Add(time.Hour)); reschedule(c.ClosesAt) },
			"a restock":                       func() { w.Add("s", 1) },
			"a withdrawal": func() {
				w.withdraws(w.Ledger, "back", 1, done(1, w.Number("SALE#moutai", "SALE", "seeded")-1, 2, true))
			},
			"an hour more with a purchase": func() {
				reschedule(w.Now().Add(time.Hour))
				w.bought("zoe")
				reschedule(c.ClosesAt)
			},
		} {
			reschedule(c.ClosesAt)
			r, _ := w.audit()
			if !r.Finished && r.Pending == 0 {
				t.Fatalf("%s: got %+v, want a finished sale", name, r)
			}
			change()
			check(t, !w.drained(r), "%s: drained by what was seen before", name)
		}
		r, _ := w.audit()
		if r.ClosesAt = r.ClosesAt.Add(time.Second); w.drained(r) {
			t.Error("drained although its listing has another end")
		}
		if r.SaleID = "nowhere"; w.drained(r) {
			t.Error("a sale that does not exist is drained")
		}
	},
	"the listing of a drained sale keeps no place of a pass": func(t *testing.T, w *World) {
		c := w.Open(4, 2)
		w.moment(c.ClosesAt.Add(ledger.DrainAfter))
		w.Succeeds(nil, w.Ledger.SaveCursor(w.Ctx, &ledger.Audit{SaleID: "moutai"}, nil))
		w.tamper("SALES", "moutai", "SET releasing = :x", text(`{"bucket":1,"after":"alice"}`))
		r, _ := w.audit()
		if l := w.Listing(); l.Cursor == nil || l.Releasing == nil || !w.drained(r) {
			t.Fatalf("got %+v, want two passes under way, and a sale that can be drained", l)
		}
		l := w.Listing()
		check(t, l.Cursor == nil && l.Releasing == nil, "got %+v, want no pass", l)
	},
	"a drained sale is on the list while a refund of it may be due": func(t *testing.T, w *World) {
		c := w.Open(4, 2) // it asks for no payment, and may be paid
		id := w.Ordered("alice")[0]
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		if r, _ := w.audit(); !r.Finished || !w.drained(r) {
			t.Fatalf("got %+v, want a finished sale", r)
		}
		lists := func(want int) {
			t.Helper()
			l, err := w.Ledger.Listings(w.Ctx)
			check(t, err == nil && len(l) == want && (want <= 0 || l[0].Drained), "got %+v (%v), want %d drained sales", l, err, want)
		}
		w.Settles(PaymentOf(id, "pi_1"))
		lists(0)
		for _, reference := range []string{"pi_2", "pi_3"} {
			w.Settles(PaymentOf(id, reference))
			w.Pass(90*24*time.Hour - time.Millisecond)
			lists(1)
			w.Settles(PaymentOf(id, "pi_2")) // reported again
			w.Pass(time.Millisecond)
			lists(0)
		}
	},
	"the list of sales shows which are drained, and keeps the cursor": func(t *testing.T, w *World) {
		c := w.Open(4, 2)
		lists := func(want int) []ledger.Listing {
			t.Helper()
			l, err := w.Ledger.Listings(w.Ctx)
			if err != nil || len(l) != want {
				t.Fatalf("got %v (%v), want %d", l, err, want)
			}
			return l
		}
		l := lists(1)
		check(t, l[0].SaleID == "moutai" && !l[0].Drained && l[0].Cursor == nil, "got %+v", l)
		a := &ledger.Audit{SaleID: "moutai", Sold: []int64{1, 2}, Units: []int64{0, 1}, Positions: []ledger.Position{{Bucket: 3, After: "用户"}}, Suspects: []string{"x"}}
		w.Succeeds(nil, w.Ledger.SaveCursor(w.Ctx, a, nil))
		if l := lists(1); fmt.Sprintf("%+v", *l[0].Cursor) != fmt.Sprintf("%+v", *a) || !a.SavedAt.Equal(w.Now()) {
			t.Errorf("got cursor %+v, want %+v", *l[0].Cursor, *a)
		}
		books := func(r *ledger.Receipt, want int64) {
			t.Helper()
			w.Succeeds(nil, w.Ledger.SaveCursor(w.Ctx, a, r))
			if l := lists(1); l[0].Cursor == nil || (l[0].Books == nil) != (want == 0) || want > 0 && l[0].Books.Stock != want {
				t.Errorf("got %+v, want books of a stock of %d", l[0], want)
			}
		}
		books(nil, 0)
		books(&ledger.Receipt{SaleID: "moutai", Stock: 7}, 7)
		books(nil, 7)
		w.Refused(sale.Internal, w.Ledger.SaveCursor(w.Ctx, &ledger.Audit{SaleID: "nowhere"}, nil))
		lists(1)
		for _, cursor := range []string{`{"suspects":[1]}`, `{"format":3,"saleId":"other"}`, `{"saleId":"moutai"}`, `{"format":4,"saleId":"moutai"}`, `not JSON`} {
			w.tamper("SALES", "moutai", "SET #cursor = :c", map[string]types.AttributeValue{":c": &types.AttributeValueMemberS{Value: cursor}})
			if l := lists(1); l[0].Cursor != nil {
				t.Errorf("cursor %s is read as %+v", cursor, *l[0].Cursor)
			}
		}
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		r, _ := w.audit()
		if !r.Finished || !w.drained(r) {
			t.Fatalf("got %+v, want a finished sale", r)
		}
		lists(0)
		w.Add("s", 1)
		if l := lists(1); l[0].Cursor != nil { // a restock brings it back, and another pass begins
			t.Errorf("got %+v", l)
		}
		w.drains()
		w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour)})
		lists(1) // so does another end
	},
	"operators see every sale with its units, also one that is drained or cannot be read": func(t *testing.T, w *World) {
		c := w.Open(4, 2)
		w.Ordered("alice")
		w.ends(c)
		w.openIn("shoe", "size-42", 5)
		w.openIn("shoe", "size-43", 6)
		w.tamper("SALE#size-43", "SALE", "SET minReader = :v", map[string]types.AttributeValue{":v": &types.AttributeValueMemberN{Value: "99"}})
		for drained, want := range map[bool][]string{true: {"moutai", "size-42", "size-43"}, false: {"size-42", "size-43"}} {
			all, err := w.Environment().Standings(w.Ctx, drained)
			if err != nil || len(all) != len(want) {
				t.Fatalf("got %+v (%v), want %v", all, err, want)
			}
			for i, one := range all {
				isNewer := one.SaleID == "size-43"
				if one.SaleID != want[i] || !isNewer && one.Sale.ID != want[i] || isNewer != (sale.CodeOf(one.Err) == sale.NewerVersion) {
					t.Errorf("place %d is of %+v, want %s", i, one, want[i])
				}
			}
		}
		for id, want := range map[string]int64{"moutai": 3, "size-42": 9} {
			one, units, err := w.Environment().Standing(w.Ctx, id)
			check(t, err == nil && one.Sale.ID == id && units == want, "got %+v with %d units (%v), want %d", one, units, err, want)
		}
		_, _, err := w.Environment().Standing(w.Ctx, "size-43")
		w.Refused(sale.NewerVersion, err)
		_, _, err = w.Environment().Standing(w.Ctx, "nowhere")
		w.Refused(sale.SaleNotFound, err)
	},
}
