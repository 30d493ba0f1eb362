package ledgertest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// audit makes a whole pass and returns its receipt and the stranded claims.
func (w *World) audit() (ledger.Receipt, []sale.Claim) {
	w.T.Helper()
	return w.auditFrom(&ledger.Audit{SaleID: "moutai"})
}

// auditFrom goes on with a pass to its end.
func (w *World) auditFrom(a *ledger.Audit) (ledger.Receipt, []sale.Claim) {
	w.T.Helper()
	var stranded []sale.Claim
	for range 3 {
		r, err := w.Ledger.Step(w.Ctx, a, func(c sale.Claim) { stranded = append(stranded, c) })
		if err != nil {
			w.T.Fatalf("audit: %v", err)
		}
		if r != nil {
			return *r, stranded
		}
		stranded = nil
		w.Pass(ledger.SettleTime)
	}
	w.T.Fatal("the audit comes to no end")
	return ledger.Receipt{}, nil
}

// finds makes a pass that must have that finding.
func (w *World) finds(want string) {
	w.T.Helper()
	r, _ := w.audit()
	for _, f := range r.Findings {
		if strings.HasSuffix(f, want) {
			return
		}
	}
	w.T.Errorf("got %q, want a finding that ends %q", r.Findings, want)
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
			OldestPendingSeconds: 40, Balanced: true, ClosesAt: Start.Add(time.Hour), Version: 1, ReadUnits: r.ReadUnits, Available: 8,
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
	"what can be bought now is the stock of a sale that is open and not paused": func(t *testing.T, w *World) {
		w.Open(20, 4)
		w.bought("alice")
		for _, c := range []struct {
			paused bool
			passes time.Duration
			want   int64
		}{{false, 0, 19}, {true, 0, 0}, {false, 0, 19}, {false, time.Hour, 0}} {
			if _, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", At: w.Now(), Paused: &c.paused}); err != nil {
				t.Fatal(err)
			}
			w.Pass(c.passes + time.Second)
			if r, _ := w.audit(); r.Available != c.want || r.Stock != 19 {
				t.Errorf("%+v: %d of %d units are available", c, r.Available, r.Stock)
			}
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
		w.Open(20, 8) // two buckets
		refs := w.bought("alice", "bob", "carol")
		ids := w.confirmed(refs)
		home := fmt.Sprintf("CLAIM#moutai#%d", sale.BucketOf("alice", 2))
		abroad := fmt.Sprintf("CLAIM#moutai#%d", 1-sale.BucketOf("alice", 2))
		alice := w.Item(home, "alice")
		shard := "STOCK#moutai#" + alice["shard"].(*types.AttributeValueMemberN).Value
		if r, _ := w.audit(); !r.Balanced {
			t.Fatalf("not balanced before: %v", r.Findings)
		}
		value := func(v types.AttributeValue) map[string]types.AttributeValue {
			return map[string]types.AttributeValue{":v": v}
		}
		number := func(n int64) map[string]types.AttributeValue {
			return value(&types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)})
		}
		text := value(&types.AttributeValueMemberS{Value: "other"})
		start := Start.UnixMilli()
		for _, c := range []struct {
			name, pk, sk, breaks string
			broken               map[string]types.AttributeValue
			mends                string
			mended               map[string]types.AttributeValue
			want                 string
		}{
			{"a unit vanished", shard, "STOCK", "SET stock = stock - :v", number(1), "SET stock = stock + :v", number(1), "units sold, "},
			{"a unit appeared", shard, "STOCK", "SET stock = stock + :v", number(1), "SET stock = stock - :v", number(1), "units sold, "},
			{"a stock below zero", shard, "STOCK", "SET stock = stock - :v, seeded = seeded - :v", number(20),
				"SET stock = stock + :v, seeded = seeded + :v", number(20), "stock is -"},
			{"a seeding nobody ordered", shard, "STOCK", "SET stock = stock + :v, seeded = seeded + :v", number(1),
				"SET stock = stock - :v, seeded = seeded - :v", number(1), "the shards were given 21 units, the sale 20 (P2)"},
			{"a unit less than was ordered", shard, "STOCK", "SET stock = stock - :v, seeded = seeded - :v", number(1),
				"SET stock = stock + :v, seeded = seeded + :v", number(1), "the shards were given 19 units, the sale 20 (P2)"},
			{"a shard with stock that is marked empty", "SALE#moutai", "SALE", "ADD #empty :v",
				value(&types.AttributeValueMemberNS{Value: []string{"3"}}), "REMOVE #empty", nil, "units but is marked empty: nobody can buy them (P6)"},
			{"a shard that cannot be read", shard, "STOCK", "SET seeded = :v", text,
				"SET seeded = :v", value(w.Item(shard, "STOCK")["seeded"]), "seeded is not a number"},
			{"a claim in a shard that does not exist", home, "alice", "SET #shard = #shard + :v", number(8), "SET #shard = #shard - :v", number(8), "names shard"},
			{"a claim of the future", home, "alice", "SET acceptedAt = :v", number(start + 1_200_000), "SET acceptedAt = :v", value(alice["acceptedAt"]), "yet to come (P14)"},
			{"a claim of before the sale", home, "alice", "SET acceptedAt = :v", number(start - 61_000), "SET acceptedAt = :v", value(alice["acceptedAt"]), "outside of the sale's window (P14)"},
			{"an order id of another time", home, "alice", "SET orderId = :v", number(1<<32 | 1), "SET orderId = :v", value(alice["orderId"]), "says 2023-01-01T00:00:01Z"},
			{"an order id of the future", home, "alice", "SET orderId = :v", number(1<<62 | 1), "SET orderId = :v", value(alice["orderId"]), "says 2057-01-09T"},
			{"a claim that cannot be read", home, "alice", "SET acceptedAt = :v", text, "SET acceptedAt = :v", value(alice["acceptedAt"]), `user "alice": read item`},
			{"somebody else's order", fmt.Sprintf("ORDER#%d", ids[0]), "ORDER", "SET claimId = :v", text,
				"SET claimId = :v", value(&types.AttributeValueMemberS{Value: refs[0].ClaimID}), "belongs to another claim (P7)"},
			{"an order that cannot be read", fmt.Sprintf("ORDER#%d", ids[0]), "ORDER", "REMOVE claimId", nil,
				"SET claimId = :v", value(&types.AttributeValueMemberS{Value: refs[0].ClaimID}), "claimId is not a string"},
		} {
			w.tamper(c.pk, c.sk, c.breaks, c.broken)
			r, _ := w.audit()
			if r.Balanced || r.Finished || !strings.Contains(strings.Join(r.Findings, "\n"), c.want) {
				t.Errorf("%s: got %+v, want %q", c.name, r, c.want)
			}
			w.tamper(c.pk, c.sk, c.mends, c.mended)
			if r, _ := w.audit(); !r.Balanced {
				t.Fatalf("%s: mended, and still %+v", c.name, r)
			}
		}
		// The same claim once more, in the bucket where nobody looks for it.
		w.tamper(abroad, "alice", "SET claimId = :id, #shard = :shard, acceptedAt = :at", map[string]types.AttributeValue{
			":id": alice["claimId"], ":shard": alice["shard"], ":at": alice["acceptedAt"],
		})
		if r, _ := w.audit(); !strings.Contains(strings.Join(r.Findings, "\n"), `user "alice": a claim outside of its bucket (P3)`) {
			t.Errorf("a claim outside of its bucket: got %+v", r)
		}
	},
	"a window or pause that stays different from the sale's is found, one on its way is not": func(t *testing.T, w *World) {
		w.Open(20, 2)
		flag := func(name string, is bool) map[string]types.AttributeValue {
			return map[string]types.AttributeValue{name: &types.AttributeValueMemberBOOL{Value: is}}
		}
		for _, change := range []struct {
			breaks string
			broken map[string]types.AttributeValue
			mends  string
			mended map[string]types.AttributeValue
		}{
			{"SET paused = :yes", flag(":yes", true), "SET paused = :no", flag(":no", false)},
			{"SET opensAt = opensAt + :one", one(), "SET opensAt = opensAt - :one", one()},
			{"SET closesAt = closesAt + :one", one(), "SET closesAt = closesAt - :one", one()},
		} {
			w.tamper("STOCK#moutai#1", "STOCK", change.breaks, change.broken)
			a := &ledger.Audit{SaleID: "moutai"}
			if r, _ := w.auditFrom(a); !r.Balanced {
				t.Errorf("%s: an edit may be on its way, but got %+v", change.breaks, r)
			}
			w.Pass(10 * time.Minute)
			r, _ := w.auditFrom(a.Next())
			if r.Balanced || !strings.Contains(r.Findings[0], "shard 1: its window or pause differs") {
				t.Errorf("%s: got %+v", change.breaks, r)
			}
			w.tamper("STOCK#moutai#1", "STOCK", change.mends, change.mended)
		}
	},
	"a shard that an edit has not reached is found five minutes after the first pass that knew of the edit": func(t *testing.T, w *World) {
		w.Open(20, 2)
		a := &ledger.Audit{SaleID: "moutai"}
		// differs makes a pass, and reports whether it has a finding on the shard.
		differs := func() bool {
			a = a.Next()
			r, _ := w.auditFrom(a)
			return strings.Contains(strings.Join(r.Findings, "\n"), "shard 1: its window or pause differs")
		}
		differs() // so that later passes know the sale's first version
		for _, paused := range []bool{true, false} {
			w.Pass(10 * time.Minute)
			w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), Paused: &paused})
			before := map[string]types.AttributeValue{":before": &types.AttributeValueMemberBOOL{Value: !paused}}
			w.tamper("STOCK#moutai#1", "STOCK", "SET paused = :before", before)
			for _, after := range []time.Duration{0, 5*time.Minute - time.Millisecond, time.Millisecond} {
				w.Pass(after)
				if got, want := differs(), after == time.Millisecond; got != want {
					t.Errorf("paused %t, %v after the pass before: found %t, want %t", paused, after, got, want)
				}
			}
		}
	},
	"what changes while a pass looks is no finding": func(t *testing.T, w *World) {
		w.Open(2, 2)
		w.bought("alice", "bob")
		_, err := w.Buy("late") // marks both shards empty
		w.Refused(sale.SoldOut, err)
		seeds := 0
		restocking := w.before("Query", func() {
			seeds++
			w.Add(fmt.Sprint("s", seeds), 1)
		})
		a := &ledger.Audit{SaleID: "moutai"}
		r, err := restocking.Step(w.Ctx, a, func(sale.Claim) {})
		if r != nil || err != nil || len(a.Suspects) == 0 {
			t.Fatalf("got %+v (%v), suspects %v: the restock is not seen at all", r, err, a.Suspects)
		}
		if r, err = restocking.Step(w.Ctx, a, func(sale.Claim) {}); err != nil || !r.Balanced {
			t.Errorf("two restocks while two passes look: got %+v (%v)", r, err)
		}
	},
	"a claim of a window that was moved is no finding": func(t *testing.T, w *World) {
		c := w.Open(4, 2)
		reschedule := func(closesAt time.Time) {
			w.Pass(time.Millisecond)
			w.edit(sale.Edit{SaleID: "moutai", At: w.Now(), OpensAt: c.OpensAt, ClosesAt: closesAt})
		}
		once := sync.OnceFunc(func() {
			reschedule(c.ClosesAt.Add(time.Hour))
			w.Pass(90 * time.Minute)
			w.bought("late")
			reschedule(c.ClosesAt)
		})
		a := &ledger.Audit{SaleID: "moutai"}
		r, err := w.before("Query", once).Step(w.Ctx, a, func(sale.Claim) {})
		if r != nil || err != nil || len(a.Suspects) == 0 {
			t.Fatalf("got %+v (%v), suspects %v: the claim is not seen at all", r, err, a.Suspects)
		}
		if r, _ := w.auditFrom(a); !r.Balanced || r.Claims != 1 {
			t.Errorf("got %+v", r)
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
		w.Pass(time.Minute)
		a := &ledger.Audit{SaleID: "moutai"}
		r, stranded := w.auditFrom(a)
		if r.Missing != 2 || len(stranded) != 2 || r.Confirmed != 2 || r.OldestPendingSeconds != 60 || !r.Balanced {
			t.Fatalf("got %+v, stranded %v", r, stranded)
		}
		if mark, err := w.Ledger.MarkResent(w.Ctx, stranded[0], false); mark.IsZero() || err != nil {
			t.Errorf("it may not be sent again: %v", err)
		}
		w.confirmed(refs[:1])
		for _, after := range []time.Duration{3 * time.Minute, time.Hour / 2} {
			w.Pass(after)
			a = a.Next()
			if r, stranded := w.auditFrom(a); r.Missing != 1 || len(stranded) != 1 {
				t.Errorf("%v later: got %+v, stranded %v, want what is still missing", after, r, stranded)
			}
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
	"a claim whose message was just sent again is not stranded": func(t *testing.T, w *World) {
		w.Open(20, 4)
		w.bought("alice")
		w.Pass(time.Minute)
		_, stranded := w.audit()
		if len(stranded) != 1 {
			t.Fatalf("stranded: %v", stranded)
		}
		if mark, err := w.Ledger.MarkResent(w.Ctx, stranded[0], false); mark.IsZero() || err != nil {
			t.Fatalf("it may not be sent again: %v", err)
		}
		w.Pass(ledger.ResendGrace)
		if _, stranded := w.audit(); len(stranded) != 0 {
			t.Errorf("stranded: %v", stranded)
		}
	},
	"the age of an order is its age when it was read, however long the pass takes": func(t *testing.T, w *World) {
		w.Open(40, 16) // four buckets
		w.confirmed(w.bought(usersOf(3, 4, 3)...))
		w.bought(usersOf(0, 4, 2)...)
		w.Pass(20 * time.Second)
		a := w.cutPass()
		w.Pass(20 * time.Minute)
		if r, _ := w.auditFrom(a); r.OldestPendingSeconds != 20 {
			t.Errorf("the oldest is %d s old, want 20: since then it may have been confirmed", r.OldestPendingSeconds)
		}
	},
	"one payment that two releases recorded for two orders is a finding": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		ids := w.Ordered("alice", "bob", "carol", "dave")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.Settles(PaymentOf(ids[1], "pi_2"))
		if r, _ := w.audit(); !r.Balanced {
			t.Errorf("got %q", r.Findings)
		}
		// As a release that put no guards did.
		w.paid("carol", 2)
		w.paid("dave", 2)
		w.states(map[string]sale.ClaimState{"alice": sale.Paid, "bob": sale.Paid, "carol": sale.Paid, "dave": sale.Paid})
		w.finds("2 orders or refunds have a payment that is another's, too; a recount names them (P24)")
	},
	"a refund that cannot be read is a finding, and the others are counted": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		id := w.Ordered("alice")[0]
		for _, reference := range []string{"pi_1", "pi_2", "pi_3"} {
			w.Settles(PaymentOf(id, reference))
		}
		w.tamper("REFUND#moutai", "stripe#pi_2", "REMOVE reason", nil)
		w.finds("reason is not a string (P19)")
		if r, _ := w.audit(); r.RefundsDue != 1 || r.Finished || len(r.Findings) != 1 {
			t.Errorf("got %+v", r)
		}
		refunds, err := w.Ledger.Refunds(w.Ctx, "moutai")
		if len(refunds) != 1 || refunds[0].Payment != "stripe#pi_3" || sale.CodeOf(err) != sale.Internal {
			t.Errorf("got %+v (%v), want the one that can be read, and an error", refunds, err)
		}
	},
	"a payment that is an order's and is to be refunded for another is a finding": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		ids := w.Ordered("alice", "bob")
		w.Cancels("bob")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.refunded(PaymentOf(ids[1], "pi_2"), "moutai", "bob", sale.RefundReleased)
		refund := w.Item("REFUND#moutai", "stripe#pi_2")
		refund["sk"] = &types.AttributeValueMemberS{Value: "stripe#pi_1"}
		w.place(refund)
		w.finds("1 orders or refunds have a payment that is another's, too; a recount names them (P24)")
	},
	"a claim that a later release has paid or released is read in its state": func(t *testing.T, w *World) {
		w.Open(20, 4)
		w.asksForPayment(time.Hour)
		w.confirmed(w.bought("paid", "expired", "cancelled", "withdrawn", "unpaid"))
		w.bought("pending")
		w.paid("paid", 4)
		for user, by := range map[string]string{"expired": "expiry", "cancelled": "buyer", "withdrawn": "operator"} {
			w.releasedClaim(user, 4, by)
		}
		for user, want := range map[string]sale.ClaimState{
			"paid": sale.Paid, "expired": sale.Expired, "cancelled": sale.Cancelled, "withdrawn": sale.Cancelled,
			"unpaid": sale.Confirmed, "pending": sale.Pending,
		} {
			c, err := w.Environment().Claim(w.Ctx, "moutai", user)
			if err != nil || c.State() != want {
				t.Errorf("%s: got %+v (%v), want %s", user, c, err, want)
			}
			_, err = w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user})
			if e := w.Refused(sale.AlreadyOrdered, err); e.Claim.State() != want {
				t.Errorf("%s asks again and is told %s, want %s", user, e.Claim.State(), want)
			}
		}
		if c, _ := w.Environment().Claim(w.Ctx, "moutai", "paid"); c.Payment != "stripe#pi_1" || !c.PaidAt.Equal(w.Now()) {
			t.Errorf("got %+v, want its payment", c)
		}
		w.final("unpaid", 4, "SET releasedAt = :one, releasedBy = :by",
			map[string]any{":one": 1, ":by": "nobody"})
		_, err := w.Ledger.Claim(w.Ctx, "moutai", "unpaid")
		w.Refused(sale.Internal, err)
		w.final("paid", 4, "SET releasedAt = :one, releasedBy = :by",
			map[string]any{":one": 1, ":by": "buyer"})
		_, err = w.Ledger.Claim(w.Ctx, "moutai", "paid")
		w.Refused(sale.Internal, err)
	},
	"released units that are back in stock balance, and are sold again": func(t *testing.T, w *World) {
		w.Open(4, 1)
		w.asksForPayment(time.Hour)
		w.confirmed(w.bought(people(4)...))
		w.paid(people(4)[0], 1)
		for _, user := range people(4)[1:3] {
			w.releasedClaim(user, 1, "buyer")
		}
		r, _ := w.audit()
		if !r.Balanced || r.Confirmed != 4 || r.Paid != 1 || r.Unpaid != 1 || r.Released != 2 {
			t.Errorf("before they are back: %+v", r)
		}
		w.tamper("STOCK#moutai#0", "STOCK", "SET stock = stock + :n, putBack = :n", attributes(map[string]any{":n": 2}))
		w.confirmed(w.bought("fifth"))
		if r, _ = w.audit(); !r.Balanced || r.Stock != 1 || r.Claims != 5 || r.Released != 2 {
			t.Errorf("one is sold again: %+v", r)
		}
	},
	"released claims that the shards do not count are found, and the reverse": func(t *testing.T, w *World) {
		w.Open(4, 1)
		w.confirmed(w.bought("alice"))
		w.tamper("STOCK#moutai#0", "STOCK", "ADD released :one", one())
		w.finds("count 1 to 1 released claims, there are 0 (P2)")
		w.releasedClaim("alice", 1, "buyer")
		w.finds("count 2 to 2 released claims, there are 1 (P2)")
		w.tamper("STOCK#moutai#0", "STOCK", "SET released = :one, stock = stock + :two, putBack = :two",
			attributes(map[string]any{":one": 1, ":two": 2}))
		w.finds("2 units were put back, but only 1 released (P2)")
		w.tamper("STOCK#moutai#0", "STOCK", "SET released = :zero, stock = stock - :two, putBack = :zero",
			attributes(map[string]any{":zero": 0, ":two": 2}))
		w.finds("count 0 to 0 released claims, there are 1 (P2)")
	},
	"a sale that asks for payment is finished when all is paid or back in stock": func(t *testing.T, w *World) {
		c := w.Open(4, 1)
		w.asksForPayment(time.Hour)
		w.confirmed(w.bought("alice", "bob"))
		w.Pass(c.ClosesAt.Sub(w.Now()) + ledger.DrainAfter)
		finished := func(want bool, when string) {
			t.Helper()
			if r, _ := w.audit(); r.Finished != want || !r.Balanced {
				t.Errorf("%s: got %+v, want finished: %t", when, r, want)
			}
		}
		finished(false, "two are unpaid")
		w.paid("alice", 1)
		finished(false, "one is unpaid")
		w.releasedClaim("bob", 1, "expiry")
		finished(false, "a unit is released and not back")
		w.tamper("STOCK#moutai#0", "STOCK", "SET stock = stock + :one, putBack = :one", one())
		finished(true, "all is settled")
	},
}

// asksForPayment makes the sale one that a later release has created with a payWithin.
func (w *World) asksForPayment(within time.Duration) {
	w.T.Helper()
	w.tamper("SALE#moutai", "SALE", "SET payWithin = :p, minReader = :r",
		attributes(map[string]any{":p": int(within / time.Second), ":r": 2}))
}

// final writes what a later release writes into a claim that is paid or released.
func (w *World) final(user string, shards int, update string, values map[string]any) {
	w.T.Helper()
	w.tamper(fmt.Sprintf("CLAIM#moutai#%d", sale.BucketOf(user, sale.BucketsFor(shards))), user, update, attributes(values))
}

func (w *World) paid(user string, shards int) {
	w.T.Helper()
	w.final(user, shards, "SET paidAt = :at, payment = :p",
		map[string]any{":at": w.Now(), ":p": "stripe#pi_1"})
}

// releasedClaim releases a claim and counts it in its shard.
func (w *World) releasedClaim(user string, shards int, by string) (shard int64) {
	w.T.Helper()
	w.final(user, shards, "SET releasedAt = :at, releasedBy = :by",
		map[string]any{":at": w.Now(), ":by": by})
	c := w.claimOf(user)
	w.tamper(fmt.Sprintf("STOCK#moutai#%d", c.Shard), "STOCK", "ADD released :one", one())
	return int64(c.Shard)
}
