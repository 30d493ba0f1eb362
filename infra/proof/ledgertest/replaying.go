package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

var replaying = map[string]func(*testing.T, *World){
	"a replay writes what a restored table lacks, and a check says beforehand what that is": func(t *testing.T, w *World) {
		p := w.lives()
		p.becomes(p.kept)
		want := maintenance.Replayed{Claims: 3, Guards: 3 + 1 + 1 + 3 + 1, OrderIDs: 3, Orders: 3, Payments: 2, Releases: 2, Refunds: 4, Additions: 1, Extensions: 1, Shards: 2}
		before := p.table()
		noDiff(t, want, p.replays(w.Environment(), false), "the check")
		diff := cmp.Diff(promised(before), promised(p.table()))
		check(t, diff == "" && w.Item("SALE#moutai", "SALE")["restoredAt"] == nil, "the check wrote: %s", diff)
		noDiff(t, want, p.replays(w.Environment(), true), "the replay")
		p.isWhole("whole")
		p.replays(w.Environment(), true)
		p.isWhole("again")
	},
	"a replay completes transactions that were restored in part": func(t *testing.T, w *World) { w.restoredInPart() },
	"a replay that was cut off goes on": func(t *testing.T, w *World) {
		p := w.lives()
		for writes, whole := 0, false; !whole; writes++ {
			if w.leavesOut() {
				continue
			}
			p.becomes(p.kept)
			ctx, l := w.cutAfter(writes)
			_, err := maintenance.Of(l).Replay(ctx, p.scanner(), p.lost, true)
			whole = err == nil
			p.replays(w.Environment(), true)
			p.isWhole(fmt.Sprint("after ", writes, " writes"))
		}
	},
	"a replay stops the sendings that went on, and what was sent stays as it was": func(t *testing.T, w *World) {
		w.OpenPriced(9, 1)
		id := w.Ordered("alice")[0]
		for _, reference := range []string{"pi_1", "pi_2"} {
			w.Settles(PaymentOf(id, reference))
		}
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		begins := func(press string) sale.Sending {
			s := sale.Sending{ID: sale.SendingID(w.Now(), press), AsOf: w.Now(), Count: 1, Author: sale.Author{Actor: "kim"}}
			begun, _, err := w.Environment().BeginSending(w.Ctx, s)
			w.Succeeds(nil, err)
			return begun
		}
		open, ended, stopped := begins("1"), begins("2"), begins("3")
		ended.EndedAt = w.Now()
		w.Succeeds(w.Environment().SaveSending(w.Ctx, ended, ended))
		stopped, _, err := w.Environment().StopSending(w.Ctx, stopped.ID, "ana")
		w.Succeeds(nil, err)
		taken, _, err := w.Environment().TakeRefund(w.Ctx, w.refunds("moutai")[0], &open, "live")
		w.Succeeds(nil, err)
		w.Pass(time.Minute)
		open.StoppedAt, open.StoppedBy = w.Now(), "restore"
		for i, write := range []bool{false, true, true} {
			done := p.replays(w.Environment(), write)
			check(t, done.Sendings == []int{1, 1, 0}[i], "replay %d: got %+v", i, done)
		}
		all, err := w.Environment().Sendings(w.Ctx)
		w.Succeeds(nil, err)
		noDiff(t, []sale.Sending{stopped, ended, open}, all, "the sendings")
		noDiff(t, []sale.Refund{taken}, w.refunds("moutai"), "the refund")
	},
	"numbers leap again in another restore": func(t *testing.T, w *World) {
		p := w.lives()
		p.becomes(p.kept)
		for range 2 {
			p.lost.RestoredTo = p.lost.RestoredTo.Add(time.Millisecond)
			p.replays(w.Environment(), true)
		}
		n, next := w.Number("SALE#moutai", "SALE", "edits"), w.Number("SEQ#2026-11-11", "SEQ", "next")
		check(t, n == 2_000_000 && next >= 200_000_000, "after two restores edits are %d, and next is %d", n, next)
	},
	"what changes under a replay stands": func(t *testing.T, w *World) {
		p := w.lives()
		claim := func(user, attribute string) string { return value(p.Item("CLAIM#moutai#0", user)[attribute]) }
		for _, of := range []struct {
			op, pk, sk, writes string
			meanwhile          func()
			pk2, sk2, name     string // what stands
			want               string
		}{
			{"UpdateItem", "CLAIM#moutai#0", "early", "#orderId", func() { p.tampers("CLAIM#moutai#0", "early", "orderId", 77) }, "CLAIM#moutai#0", "early", "orderId", "77"},
			{"UpdateItem", "CLAIM#moutai#0", "alice", "#paidAt", func() { p.tampers("CLAIM#moutai#0", "alice", "releasedAt", 77) }, "CLAIM#moutai#0", "alice", "paidAt", "<nil>"},
			{"UpdateItem", "CLAIM#moutai#0", "ann", "#releasedAt", func() { p.tampers("CLAIM#moutai#0", "ann", "paidAt", 77) }, "CLAIM#moutai#0", "ann", "releasedAt", "<nil>"},
			{"PutItem", "CLAIM#moutai#0", "dave", "", func() {
				p.place(p.full["CLAIM#moutai#0 dave"])
				p.tampers("CLAIM#moutai#0", "dave", "orderId", 77)
			}, "CLAIM#moutai#0", "dave", "orderId", "77"},
			{"PutItem", "SALE#moutai", "SEED#more", "", func() {
				p.place(p.full["SALE#moutai SEED#more"])
				p.tampers("SALE#moutai", "SEED#more", "units", 77)
			}, "SALE#moutai", "SEED#more", "units", "77"},
			{"UpdateItem", "STOCK#moutai#0", "STOCK", "#stock", func() { p.tampers("STOCK#moutai#0", "STOCK", "stock", 77) }, "STOCK#moutai#0", "STOCK", "stock", "77"},
			{"UpdateItem", "SALE#moutai", "SALE", "#seeded", func() {
				p.tampers("SALE#moutai", "SALE", "version", 77)
				p.tampers("SALE#moutai", "SALE", "seeded", 77)
			}, "SALE#moutai", "SALE", "seeded", "77"},
			{"UpdateItem", "SALES", "moutai", "#closesAt", func() { p.tampers("SALES", "moutai", "closesAt", 77) }, "SALES", "moutai", "closesAt", "77"},
		} {
			p.becomes(p.kept)
			once := once(of.meanwhile)
			l := w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
				switch in := in.(type) {
				case *dynamodb.UpdateItemInput:
					if of.op == op && value(in.Key["pk"]) == of.pk && value(in.Key["sk"]) == of.sk && strings.Contains(*in.UpdateExpression, of.writes) {
						once()
					}
				case *dynamodb.PutItemInput:
					if of.op == op && value(in.Item["pk"]) == of.pk && value(in.Item["sk"]) == of.sk {
						once()
					}
				}
				return call()
			})
			_, _ = maintenance.Of(l).Replay(w.Ctx, p.scanner(), p.lost, true)
			once() // if it was not written, it is as it was, which is not what is wanted
			if got := value(w.Item(of.pk2, of.sk2)[of.name]); got != of.want {
				t.Errorf("%s of %s %s is %s, want %s: %s", of.name, of.pk2, of.sk2, got, of.want, claim("dave", "orderId"))
			}
		}
	},
	"a guard of a claim that nobody was told of goes, unless it is another's by then": func(t *testing.T, w *World) {
		p := w.lives()
		guard := "GUARD#shoe#12 dave"
		p.lost.Claims = slices.DeleteFunc(p.lost.Claims, func(c sale.Claim) bool { return c.User == "dave" })
		restored := maps.Clone(p.kept)
		restored[guard] = p.full[guard]
		p.becomes(restored)
		pk, sk, _ := strings.Cut(guard, " ")
		slow := w.Hooked(dynamotest.Before("TransactWriteItems", func() { // dave buys, with another claim
			for _, key := range []string{guard, "CLAIM#moutai#0 dave"} {
				other := maps.Clone(p.full[key])
				other["claimId"], other["mark"] = &types.AttributeValueMemberS{Value: "another"}, &types.AttributeValueMemberS{Value: "x"}
				p.place(other)
			}
		}))
		p.replays(slow, true)
		if w.Item(pk, sk)["mark"] == nil { // nor is it there again
			t.Errorf("a guard that had become another claim's is gone")
		}
		p.becomes(restored)
		if done := p.replays(w.Environment(), true); done.Halves != 1 || w.Item(pk, sk) != nil {
			t.Errorf("%+v, and the guard is %v", done, w.Item(pk, sk))
		}
	},
	"the listing of a restored sale begins anew, and says what the sale says": func(t *testing.T, w *World) {
		p := w.lives()
		for _, recalled := range []bool{false, true} {
			p.becomes(p.kept)
			for name, v := range map[string]types.AttributeValue{
				"drained": &types.AttributeValueMemberBOOL{Value: true}, "cursor": &types.AttributeValueMemberS{Value: "{}"}, "books": &types.AttributeValueMemberS{Value: "{}"},
				"releasing": &types.AttributeValueMemberS{Value: "{}"}, "nextDue": &types.AttributeValueMemberN{Value: "77"}, "closesAt": &types.AttributeValueMemberN{Value: "77"},
			} {
				it := w.Item("SALES", "moutai")
				it[name] = v
				w.place(it)
			}
			want := "<nil>"
			if recalled {
				w.recalls("note", true)
				w.tamper("SALES", "moutai", "REMOVE recalling", nil)
				want = value(w.Item("SALE#moutai", "SALE")["recalledAt"])
			} else {
				p.tampers("SALES", "moutai", "recalling", 77)
			}
			p.replays(w.Environment(), true)
			it := w.Item("SALES", "moutai")
			for _, name := range []string{"drained", "cursor", "books", "releasing", "nextDue"} {
				check(t, it[name] == nil, "recalled %t: %s is %v", recalled, name, it[name])
			}
			if value(it["recalling"]) != want || value(it["closesAt"]) != value(w.Item("SALE#moutai", "SALE")["closesAt"]) {
				t.Errorf("recalled %t: the listing is %v", recalled, it)
			}
		}
	},
	"a drained sale whose recall was restored without its listing is to be finished": func(t *testing.T, w *World) {
		c := w.OpenUnpaid(4, 2)
		w.Settles(PaymentOf(w.Ordered("alice")[0], "pi_1"))
		w.ends(c)
		listing := w.Item("SALES", "moutai")
		w.recalls("note", true)
		w.place(listing)
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		p.replays(w.Environment(), true)
		l := w.Listing()
		check(t, !l.Drained && l.Recalling, "got %+v, want it to be recalling", l)
	},
	"a restored sale without payments gets its counts, and shards that were found empty sell again": func(t *testing.T, w *World) {
		w.Open(4, 2)
		refs := w.bought("alice", "bob")
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		for _, c := range refs {
			w.remove(w.Item("CLAIM#moutai#0", c.User))
		}
		s := w.Item("SALE#moutai", "SALE")
		s["empty"], s["seeded"] = &types.AttributeValueMemberNS{Value: []string{"0", "1"}}, &types.AttributeValueMemberN{Value: "77"}
		w.place(s)
		p.tampers("STOCK#moutai#0", "STOCK", "seeded", 77)
		before := w.everything()
		done := p.replays(w.Environment(), false)
		check(t, done.Shards == 1 && w.everything() == before, "a check says %+v, or has changed something", done)
		same(t, p.replays(w.Environment(), true).Shards, 1)
		at, released := w.Item("SALES", "moutai")["refundAt"], w.Item("STOCK#moutai#0", "STOCK")["released"]
		check(t, at == nil && released == nil, "without a refund and a release, there are %v and %v", at, released)
		w.edit(sale.Edit{SaleID: "moutai", Paused: new(false), ReadVersion: w.seen("moutai")})
		for _, user := range []string{"carol", "dora", "eve", "fred"} {
			_, err := w.Environment().Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: user})
			w.Accepted(ledger.PurchaseResult{}, err)
		}
		w.Settled(2)
		w.hasNumber(4, "SALE#moutai", "SALE", "seeded")
	},
	"the steps of a withdrawal behind one that was lost are taken back, and a repeat takes their units": func(t *testing.T, w *World) {
		w.Open(10, 4)
		w.withdraws(w.Ledger, "typo", 5, done(5, 5, 4, true))
		full := w.table()
		for lost, steps := range map[string]struct{ kept, takenBack int }{"SEED#typo": {0, 4}, "WITHDRAWN#typo#0": {0, 3}, "WITHDRAWN#typo#2": {2, 1}} {
			p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
			p.becomes(full)
			w.remove(full["SALE#moutai "+lost])
			for _, write := range []bool{false, true} {
				if done := p.replays(w.Environment(), write); done.Halves != steps.takenBack || len(done.TakenBack) != 1 || done.TakenBack[0] != "withdrawal typo of moutai" {
					t.Errorf("without %s, write %t: %d steps of %v are taken back", lost, write, done.Halves, done.TakenBack)
				}
				for step := range 4 {
					name := fmt.Sprint("WITHDRAWN#typo#", step)
					same(t, w.Item("SALE#moutai", name) != nil, name != lost && (!write || step < steps.kept), "without %s, write %t: step %d is there", lost, write, step)
				}
			}
			now := p.replays(w.Environment(), false)
			check(t, now.Missing() == 0 && len(now.TakenBack) == 0, "without %s, after the replay: %+v", lost, now)
			w.withdraws(w.Environment(), "typo", 5, done(5, 5, 4, true))
			w.left(2, 1, 1, 1)
		}
	},
	"a shard with more claims than units keeps its counts, and its claims are listed": func(t *testing.T, w *World) {
		w.Open(4, 2)
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		w.bought("alice", "bob", "dora", "eve")
		p.lost.Claims = []sale.Claim{{SaleID: "moutai", User: "carol", ID: "third", AcceptedAt: w.Now()}}
		for _, write := range []bool{false, true} {
			done := p.replays(w.Environment(), write)
			if len(done.Oversold) != 3 || w.Stock(2)[0] != 0 || value(w.Item("STOCK#moutai#0", "STOCK")["paused"]) != fmt.Sprint(write) {
				t.Errorf("write %t: %+v, %v", write, done, w.Stock(2))
			}
			for _, c := range done.Oversold {
				same(t, c.Shard, 0, "write %t: the claim of %s", write, c.User)
			}
		}
	},
	"what contradicts the table, or how a claim has ended, is named and left alone": func(t *testing.T, w *World) {
		c := w.Sale(9, 1)
		c.PayWithin, c.Price, c.Currency, c.LimitGroup = payWithin, 199900, "CNY", "shoe"
		w.Create(c)
		order := w.Ordered("alice", "ann", "bob")[0]
		w.Settles(PaymentOf(order, "a"))
		w.Cancels("ann")
		w.place(moved(w.Item("SALE#moutai", "SALE"), "STRANGE#1", "x"))
		w.place(moved(w.Item(guardOf("ann"), "ann"), guardOf("erin"), "erin"))
		paid, released, held := w.claimOf("alice"), w.claimOf("ann"), w.claimOf("bob")
		w.tamper("CLAIM#moutai#0", "bob", "SET #shard = :one", one())
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		for name, tt := range map[string]struct {
			of       sale.Claim
			change   func(*sale.Claim)
			problems int // beside the strange item
		}{
			"a payment that is there": {paid, func(*sale.Claim) {}, 0},
			"a release that is there": {released, func(*sale.Claim) {}, 0},
			"no payment":              {paid, func(c *sale.Claim) { c.PaidAt, c.Payment = time.Time{}, "" }, 0},
			"another payment":         {paid, func(c *sale.Claim) { c.Payment = "stripe#b" }, 1},
			"a release of what is paid": {paid, func(c *sale.Claim) {
				c.PaidAt, c.Payment, c.ReleasedAt, c.ReleasedBy = time.Time{}, "", w.Now(), sale.ByBuyer
			}, 1},
			"a payment of what is released": {released, func(c *sale.Claim) {
				c.PaidAt, c.Payment, c.ReleasedAt, c.ReleasedBy = w.Now(), "stripe#b", time.Time{}, ""
			}, 1},
			"another's guard":             {released, func(c *sale.Claim) { c.User, c.ID, c.OrderID = "erin", "lost", 0 }, 1},
			"another claim":               {held, func(c *sale.Claim) { c.ID = "another" }, 1},
			"another order":               {held, func(c *sale.Claim) { c.OrderID = 1<<32 + 9 }, 1},
			"a claim of no time":          {held, func(c *sale.Claim) { c.User, c.ID, c.OrderID, c.AcceptedAt = "eve", "lost", 0, time.Time{} }, 1},
			"a claim of no shard":         {held, func(c *sale.Claim) { c.User, c.ID, c.OrderID, c.Shard = "eve", "lost", 0, 1 }, 1},
			"a claim that is in no shard": {held, func(c *sale.Claim) { c.ReleasedAt, c.ReleasedBy = w.Now(), sale.ByBuyer }, 0},
			"another claim's order":       {held, func(c *sale.Claim) { c.User, c.ID, c.OrderID = "eve", "lost", order }, 1},
		} {
			tt.change(&tt.of)
			p.lost.Claims = []sale.Claim{tt.of}
			hasLen(t, p.replays(w.Environment(), false).Problems, 1+tt.problems, "%s", name)
		}
		for _, unknown := range []string{"other", "draft"} {
			p.lost.Claims = []sale.Claim{{SaleID: unknown, User: "alice", ID: "c"}}
			before := w.everything()
			w.Refused(sale.SaleNotFound, errOf(maintenance.Of(w.Environment()).Replay(w.Ctx, p.scanner(), p.lost, true)))
			w.unchanged(before)
		}
	},
	"a replay pauses every sale but a draft, and goes back no further than 36 days": func(t *testing.T, w *World) {
		c := w.Open(1, 1)
		c.ClosesAt = c.ClosesAt.Add(40 * 24 * time.Hour)
		c.SaleID = "other"
		w.Create(c)
		c.SaleID = "third"
		w.Create(c)
		c.SaleID = "draft"
		w.drafts(c)
		draft := flat(w.Item("SALE#draft", "SALE"))
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		w.Pass(36 * 24 * time.Hour)
		p.replays(w.Environment(), true)
		for days := range 37 {
			day := p.lost.RestoredTo.AddDate(0, 0, days).Format(time.DateOnly)
			n := w.Number("SEQ#"+day, "SEQ", "next")
			check(t, n >= 100_000_000, "on %s next is %d", day, n)
		}
		for _, id := range []string{"other", "third"} {
			same(t, value(w.Item("SALE#"+id, "SALE")["paused"]), "true", "%s", id)
			w.Refused(sale.ChangedMeanwhile, errOf(w.Environment().Edit(w.Ctx, sale.Edit{SaleID: id, Paused: new(false)}))) // as a schedule does
		}
		got := flat(w.Item("SALE#draft", "SALE"))
		check(t, len(draft) != 0 && slices.Equal(got, draft), "the draft was %v, and is %v", draft, got)
		w.Pass(time.Millisecond)
		w.Refused(sale.Internal, errOf(maintenance.Of(w.Environment()).Replay(w.Ctx, p.scanner(), p.lost, true)))
	},
	"every lost sale comes back, behind others that are sealed, drained or drafts": func(t *testing.T, w *World) {
		c := w.Sale(9, 1)
		for _, id := range []string{"a-sealed", "b-drained", "c-newer", "y-sealed", "zeta"} {
			c.SaleID = id
			w.Create(c)
		}
		p := w.lives()
		zoe := w.Accepted(w.buyIn("zeta", "zoe")).Claim
		for _, id := range []string{"y-sealed", "zeta"} {
			p.lost.Claims = append(p.lost.Claims, sale.Claim{SaleID: id, User: "zoe", ID: zoe.ID, Shard: zoe.Shard, AcceptedAt: zoe.AcceptedAt})
		}
		p.becomes(p.kept)
		p.tampers("SALES", "a-sealed", "sealedAt", 77)
		p.tampers("SALES", "y-sealed", "sealedAt", 77)
		w.tamper("SALES", "b-drained", "SET drained = :x", map[string]types.AttributeValue{":x": &types.AttributeValueMemberBOOL{Value: true}})
		for _, id := range []string{"moutai", "zeta"} {
			w.tamper("SALES", id, "SET releasing = :x", text("{}"))
		}
		same(t, p.replays(w.Environment(), true).Claims, 4)
		back, err := w.Environment().Claim(w.Ctx, "zeta", "zoe")
		check(t, err == nil && back.ID == zoe.ID, "the claim of another sale is %+v (%v)", back, err)
		w.hasNumber(8, "STOCK#zeta#0", "STOCK", "stock")
		for id, touched := range map[string]bool{"a-sealed": false, "b-drained": false, "c-newer": true, "moutai": true, "y-sealed": false, "zeta": true} {
			same(t, w.Item("SALE#"+id, "SALE")["restoredAt"] != nil, touched, "%s was restored", id)
			check(t, w.Item("SALES", id)["releasing"] == nil, "%s goes on with an old pass", id)
		}
	},
	"nothing is replayed into a sealed sale": func(t *testing.T, w *World) {
		p := w.lives()
		p.becomes(p.kept)
		p.tampers("SALES", "moutai", "sealedAt", 77)
		before := w.everything()
		if done := p.replays(w.Environment(), true); done.Claims != 0 || done.Missing() != 2 { // a refund of an unknown order, with its guard
			t.Errorf("%+v", done)
		}
		w.remove(w.Item("SEQ#2026-11-11", "SEQ"))
		w.place(p.kept["SEQ#2026-11-11 SEQ"])
		w.unchanged(before)
	},
	"half an edit of a sale that is over is completed, and the days on both sides of midnight leap": func(t *testing.T, w *World) {
		c := w.Sale(3, 2)
		w.Create(c)
		w.Ordered("alice")
		midnight := w.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
		if !c.ClosesAt.Before(midnight) {
			t.Fatal("the sale closes after midnight")
		}
		w.tamper("STOCK#moutai#1", "STOCK", "SET changedAt = :x", stored{":x": &types.AttributeValueMemberN{Value: fmt.Sprint(w.Now().UnixMilli())}})
		w.moment(midnight.Add(-30 * time.Second))
		p := &past{World: w, lost: maintenance.Lost{RestoredTo: w.Now()}}
		p.replays(w.Environment(), true)
		for shard := range 2 {
			same(t, w.Number(fmt.Sprint("STOCK#moutai#", shard), "STOCK", "changedAt"), w.Number("SALE#moutai", "SALE", "changedAt"), "shard %d", shard)
		}
		for _, at := range []time.Time{midnight.Add(-time.Second), midnight} {
			n := w.Number("SEQ#"+at.Format(time.DateOnly), "SEQ", "next")
			check(t, n >= 100_000_000, "on %s next is %d", at.Format(time.DateOnly), n)
		}
	},
	"a claim of a draw comes back if its call is there": func(t *testing.T, w *World) {
		_, called, ranks := w.rolled(3, 1, 3)
		w.calls(ranks)
		p := &past{World: w, kept: w.table(), lost: maintenance.Lost{RestoredTo: w.Now()}}
		w.Pass(time.Second)
		w.allBuy(called[0])
		p.full = w.table()
		c := w.claimOf(called[0])
		p.lost.Claims = []sale.Claim{c}
		p.becomes(p.kept)
		p.replays(w.Environment(), true)
		again := w.claimOf(called[0])
		check(t, cmp.Equal(again, c), "%+v, want %+v", again, c)
		s := w.Item("SALE#moutai", "SALE")
		changes, _, err := w.Environment().Trail(w.Ctx, "moutai", 1)
		if err != nil || len(changes) != 1 || changes[0].Action != sale.ActionPause || value(s["operatedAt"]) != value(s["changedAt"]) || value(s["paused"]) != "true" {
			t.Errorf("%+v (%v), %v", changes, err, s)
		}
		p.lost.Claims[0].User, p.lost.Claims[0].ID, p.lost.Claims[0].AcceptedAt = called[1], "late", c.AcceptedAt.Add(time.Hour*24*30)
		hasLen(t, p.replays(w.Environment(), false).Problems, 1)
	},
	"what is there of a transaction says the rest, also if no log and no event does": func(t *testing.T, w *World) {
		p := w.lives()
		p.lost = maintenance.Lost{RestoredTo: p.lost.RestoredTo}
		for _, key := range slices.Sorted(maps.Keys(promised(p.full))) {
			if p.kept[key] != nil || strings.HasPrefix(key, "CLAIM") || strings.HasPrefix(key, "REFUND# ") || p.full[key]["fate"] != nil && value(p.full[key]["saleId"]) == "<nil>" {
				continue
			}
			restored := maps.Clone(p.full)
			delete(restored, key)
			p.becomes(restored)
			done := p.replays(w.Environment(), true)
			check(t, done.Halves == 1 || p.full[key]["fate"] != nil, "without %s: %+v", key, done)
			p.isWhole("without " + key)
		}
	},
}
