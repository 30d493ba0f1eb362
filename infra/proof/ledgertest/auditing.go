package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
		w.Succeeds(nil, err)
		if r != nil {
			return *r, stranded
		}
		stranded = nil
		w.Pass(ledger.SettleTime)
	}
	w.T.Fatal("the audit comes to no end")
	return ledger.Receipt{}, nil
}

// finds makes a pass that must have that finding, or none if it is "".
func (w *World) finds(want string) {
	w.T.Helper()
	r, _ := w.audit()
	if r.Balanced && want == "" || want != "" && slices.ContainsFunc(r.Findings, func(f string) bool { return strings.HasSuffix(f, want) }) {
		return
	}
	w.T.Errorf("got %q, want a finding that ends %q", r.Findings, want)
}

var auditing = map[string]func(*testing.T, *World){
	"the receipt of a sale in order is balanced": func(t *testing.T, w *World) {
		w.Open(20, 4)
		refs := w.bought(people(12)...)
		w.Confirmed(refs[:7])
		w.Pass(40 * time.Second)
		r, stranded := w.audit()
		want := ledger.Receipt{
			SaleID: "moutai", AsOf: w.Now(), Seeded: 20, Stock: 8, Claims: 12, Pending: 5, Confirmed: 7,
			OldestPendingSeconds: 40, Balanced: true, ClosesAt: Start.Add(time.Hour), Version: 1, ReadUnits: r.ReadUnits, Available: 8,
			Accepted: ledger.Pace{Every: 1, First: Start.Unix(), Counts: []int64{12}},
		}
		check(t, fmt.Sprintf("%+v", r) == fmt.Sprintf("%+v", want), "got  %+v\nwant %+v", r, want)
		check(t, r.ReadUnits >= 4+4+7, "%v read units for 8 shard and 7 order reads", r.ReadUnits)
		hasLen(t, stranded, 5)
	},
	"each kind of broken books is found": func(t *testing.T, w *World) {
		w.Open(20, 8) // two buckets
		ids := w.Confirmed(w.bought("alice", "bob", "carol"))
		home := fmt.Sprintf("CLAIM#moutai#%d", sale.BucketOf("alice", 2))
		abroad := fmt.Sprintf("CLAIM#moutai#%d", 1-sale.BucketOf("alice", 2))
		alice := w.Item(home, "alice")
		shard, order := "STOCK#moutai#"+value(alice["shard"]), fmt.Sprintf("ORDER#%d", ids[0])
		w.finds("")
		start := Start.UnixMilli()
		for _, c := range []struct {
			name, pk, sk, breaks string
			by                   any
			want                 string
		}{
			{"a unit vanished", shard, "STOCK", "SET stock = stock - :v", 1, "units sold, "},
			{"a unit appeared", shard, "STOCK", "SET stock = stock + :v", 1, "units sold, "},
			{"a stock below zero", shard, "STOCK", "SET stock = stock - :v, seeded = seeded - :v", 20, "stock is -"},
			{"a seeding nobody ordered", shard, "STOCK", "SET stock = stock + :v, seeded = seeded + :v", 1, "the shards were given 21 units, the sale 20 (P2)"},
			{"a unit less than was ordered", shard, "STOCK", "SET stock = stock - :v, seeded = seeded - :v", 1, "the shards were given 19 units, the sale 20 (P2)"},
			{"a shard that cannot be read", shard, "STOCK", "SET seeded = :v", "other", "seeded is not a number"},
			{"a claim in a shard that does not exist", home, "alice", "SET #shard = #shard + :v", 8, "names shard"},
			{"a claim of the future", home, "alice", "SET acceptedAt = :v", int(start + 1_200_000), "yet to come (P14)"},
			{"a claim of before the sale", home, "alice", "SET acceptedAt = :v", int(start - 61_000), "outside of the sale's window (P14)"},
			{"an order id of another time", home, "alice", "SET orderId = :v", 1<<32 | 1, "says 2023-01-01T00:00:01Z"},
			{"an order id of the future", home, "alice", "SET orderId = :v", 1<<62 | 1, "says 2057-01-09T"},
			{"a claim that cannot be read", home, "alice", "SET acceptedAt = :v", "other", `user "alice": read item`},
			{"somebody else's order", order, "ORDER", "SET claimId = :v", "other", "belongs to another claim (P7)"},
			{"an order that cannot be read", order, "ORDER", "SET claimId = :v", 1, "claimId is not a string"},
		} {
			before := w.Item(c.pk, c.sk)
			w.tamper(c.pk, c.sk, c.breaks, attributes(map[string]any{":v": c.by}))
			r, _ := w.audit()
			check(t, !r.Balanced && !r.Finished && strings.Contains(strings.Join(r.Findings, "\n"), c.want), "%s: got %+v, want %q", c.name, r, c.want)
			w.place(before)
		}
		w.tamper("SALE#moutai", "SALE", "ADD #empty :v", map[string]types.AttributeValue{":v": &types.AttributeValueMemberNS{Value: []string{"3"}}})
		w.finds("units but is marked empty: nobody can buy them (P6)")
		w.tamper("SALE#moutai", "SALE", "REMOVE #empty", nil)
		w.finds("")
		w.place(moved(alice, abroad, "alice"))
		w.finds(`user "alice": a claim outside of its bucket (P3)`)
	},
	"a window or pause that stays different from the sale's is found, one on its way is not": func(t *testing.T, w *World) {
		w.Open(20, 2)
		right := w.Item("STOCK#moutai#1", "STOCK")
		for _, name := range []string{"paused", "opensAt", "closesAt"} {
			wrong := maps.Clone(right)
			if wrong[name] = number(w.Number("SALE#moutai", "SALE", "opensAt") + 1); name == "paused" {
				wrong[name] = &types.AttributeValueMemberBOOL{Value: true}
			}
			w.place(wrong)
			a := &ledger.Audit{SaleID: "moutai"}
			r, _ := w.auditFrom(a)
			check(t, r.Balanced, "%s: an edit may be on its way, but got %+v", name, r)
			w.Pass(10 * time.Minute)
			r, _ = w.auditFrom(a.Next())
			check(t, !r.Balanced && strings.Contains(r.Findings[0], "shard 1: its window or pause differs"), "%s: got %+v", name, r)
			w.place(right)
		}
	},
	"what changes while a pass looks is no finding": func(t *testing.T, w *World) {
		for name, meanwhile := range map[string]func(c sale.Creation, times int){
			"a restock of shards that are marked empty": func(_ sale.Creation, times int) { w.Add(fmt.Sprint("s", times), 1) },
			"a withdrawal": func(_ sale.Creation, times int) {
				w.Succeeds(w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: fmt.Sprint("typo-", times), Stock: 18}))
			},
			"a purchase in a longer window": func(c sale.Creation, times int) {
				if times == 1 {
					w.edit(sale.Edit{SaleID: "moutai", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt.Add(time.Hour)})
					w.Pass(90 * time.Minute)
					w.bought("late")
					w.edit(sale.Edit{SaleID: "moutai", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt})
				}
			},
		} {
			w.becomes(table{})
			c := w.Open(40, 4)
			if strings.HasPrefix(name, "a restock") {
				w.bought(people(40)...)
				w.Refused(sale.SoldOut, w.buys("late")) // marks the shards empty
			}
			times := 0
			busy := w.before("Query", func() { times++; meanwhile(c, times) })
			a := &ledger.Audit{SaleID: "moutai"}
			r, err := busy.Step(w.Ctx, a, func(sale.Claim) {})
			if r != nil || err != nil || len(a.Suspects) == 0 {
				t.Fatalf("%s: got %+v (%v), suspects %v: it is not seen at all", name, r, err, a.Suspects)
			}
			if r, err = busy.Step(w.Ctx, a, func(sale.Claim) {}); err != nil || !r.Balanced {
				t.Errorf("%s while two passes look: got %+v (%v)", name, r, err)
			}
		}
	},
	"a claim is stranded once its grace is over, and again when the grace of its second message is": func(t *testing.T, w *World) {
		w.Open(20, 4)
		w.bought("alice")
		for sent := range 2 {
			w.Pass(ledger.ResendGrace)
			if _, stranded := w.audit(); len(stranded) != 0 {
				t.Errorf("within the grace, sent %d times again: stranded %v", sent, stranded)
			}
			w.Pass(time.Duration(1+4*sent) * time.Minute) // it may be sent again ever more rarely
			_, stranded := w.audit()
			if len(stranded) != 1 {
				t.Fatalf("after the grace, sent %d times again: stranded %v", sent, stranded)
			}
			if mark, err := w.Ledger.MarkResent(w.Ctx, stranded[0], false); mark.IsZero() || err != nil {
				t.Fatalf("it may not be sent again: %v", err)
			}
		}
	},
	"a missing order item strands its claim, and finalizing it mends that": func(t *testing.T, w *World) {
		w.Open(20, 2)
		refs := w.bought("alice", "bob")
		for i := range refs {
			w.confirmedWithoutOrder(refs[i])
		}
		w.Pass(time.Minute)
		a := &ledger.Audit{SaleID: "moutai"}
		r, stranded := w.auditFrom(a)
		if r.Missing != 2 || len(stranded) != 2 || r.Confirmed != 2 || r.OldestPendingSeconds != 60 || !r.Balanced {
			t.Fatalf("got %+v, stranded %v", r, stranded)
		}
		mark, err := w.Ledger.MarkResent(w.Ctx, stranded[0], false)
		check(t, !mark.IsZero() && err == nil, "it may not be sent again: %v", err)
		w.Confirmed(refs[:1])
		for _, after := range []time.Duration{3 * time.Minute, time.Hour / 2} {
			w.Pass(after)
			a = a.Next()
			r, stranded := w.auditFrom(a)
			check(t, r.Missing == 1 && len(stranded) == 1, "%v later: got %+v, stranded %v, want what is still missing", after, r, stranded)
		}
		w.Confirmed(refs)
		r, _ = w.audit()
		check(t, r.Missing == 0, "got %+v", r)
	},
	"an audit that is cut off after any page goes on and comes to the same receipt": func(t *testing.T, w *World) {
		w.Open(40, 16) // four buckets: four pages
		w.Confirmed(w.bought(people(30)...)[:10])
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
	"a payment of two orders, or of an order and a refund, is a finding": func(_ *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		ids := w.Ordered("alice", "bob", "carol")
		w.Cancels("bob")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.refunded(PaymentOf(ids[1], "pi_2"), "moutai", "bob", sale.RefundReleased)
		w.place(moved(w.Item("REFUND#moutai", "stripe#pi_2"), "REFUND#moutai", "stripe#pi_1"))
		w.finds("1 orders or refunds have a payment that is another's, too; a recount names them (P24)")
		w.paid("carol", 2) // by pi_1
		w.finds("2 orders or refunds have a payment that is another's, too; a recount names them (P24)")
	},
	"a claim that is paid and released, or released by nobody, cannot be read": func(_ *testing.T, w *World) {
		w.OpenUnpaid(9, 1)
		w.Ordered("alice", "bob")
		w.paid("alice", 1)
		for user, by := range map[string]string{"alice": "buyer", "bob": "nobody"} {
			w.final(user, 1, "SET releasedAt = :at, releasedBy = :by", map[string]any{":at": w.Now(), ":by": by})
			w.Refused(sale.Internal, errOf(w.Ledger.Claim(w.Ctx, "moutai", user)))
		}
	},
	"a refund that cannot be read is a finding, and the others are counted": func(t *testing.T, w *World) {
		w.OpenUnpaid(9, 2)
		id := w.Ordered("alice")[0]
		for _, reference := range []string{"pi_1", "pi_2", "pi_3"} {
			w.Settles(PaymentOf(id, reference))
		}
		w.tamper("REFUND#moutai", "stripe#pi_2", "REMOVE reason", nil)
		w.finds("reason is not a string (P19)")
		r, _ := w.audit()
		check(t, r.RefundsDue == 1 && !r.Finished && len(r.Findings) == 1, "got %+v", r)
		refunds, err := w.Ledger.Refunds(w.Ctx, "moutai")
		if len(refunds) != 1 || refunds[0].Payment != "stripe#pi_3" || sale.CodeOf(err) != sale.Internal {
			t.Errorf("got %+v (%v), want the one that can be read, and an error", refunds, err)
		}
	},
	"released claims that the shards do not count are found, and the reverse": func(t *testing.T, w *World) {
		w.Open(4, 1)
		w.Confirmed(w.bought("alice"))
		w.tamper("STOCK#moutai#0", "STOCK", "ADD released :one", one())
		w.finds("count 1 to 1 released units, there are 0 (P2)")
		w.releasedClaim("alice", 1, "buyer")
		w.finds("count 2 to 2 released units, there are 1 (P2)")
		w.tamper("STOCK#moutai#0", "STOCK", "SET released = :one, stock = stock + :two, putBack = :two",
			attributes(map[string]any{":one": 1, ":two": 2}))
		w.finds("2 units were put back, but only 1 released (P2)")
		w.tamper("STOCK#moutai#0", "STOCK", "SET released = :zero, stock = stock - :two, putBack = :zero",
			attributes(map[string]any{":zero": 0, ":two": 2}))
		w.finds("count 0 to 0 released units, there are 1 (P2)")
	},
}

// final writes what a later version writes into a claim that is paid or released.
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
