package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/draw"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

var calling = map[string]func(*testing.T, *World){
	"a call is for as many as there are units, in the order of the ranks, and says so": func(t *testing.T, w *World) {
		c, users, ranks := w.rolled(5, 2, 8)
		if d := w.state(); d.Sale.Call != 0 || !d.HasStock || !d.NextCallAt(gap).Equal(c.OpensAt) || d.Last != (draw.Call{}) {
			t.Errorf("before the first call: %+v", d)
		}
		from := w.Now().Add(gap / 4)
		first := w.calls(ranks)
		want := draw.Call{Number: 1, From: from, Until: from.Add(keepFor), Hi: ranks[4], Complete: true, Stock: 5, At: c.OpensAt}
		same(t, first, want)
		w.callItem(1, map[string]any{"from": from, "until": from.Add(keepFor), "lo": draw.Rank{}.String(), "hi": ranks[4].String(), "stock": 5})
		for k := range 2 {
			pk := fmt.Sprintf("STOCK#moutai#%d", k)
			w.hasNumber(from.UnixMilli(), pk, "STOCK", "opensAt")
			w.hasNumber(want.Until.UnixMilli(), pk, "STOCK", "closesAt")
		}
		w.hasNumber(c.ClosesAt.UnixMilli(), "SALES", "moutai", "closesAt")
		w.hasNumber(2, "SALE#moutai", "SALE", "version")
		w.allBuy(users[:2]...)
		d := w.state()
		check(t, d.Last == want && !d.HasStock && d.NextCallAt(gap).Equal(want.Until.Add(gap)), "during the call: %+v", d)
		second := w.next(ranks)
		from = want.Until.Add(gap + gap/4)
		want = draw.Call{Number: 2, From: from, Until: from.Add(keepFor), Lo: ranks[4], Hi: ranks[7], Complete: true, Stock: 3, At: want.Until.Add(gap)}
		same(t, second, want)
		copied, err := maintenance.Of(w.Environment()).Creation(w.Ctx, "moutai")
		if err != nil || !copied.OpensAt.Equal(c.OpensAt) || !copied.ClosesAt.Equal(c.ClosesAt) || copied.DrawTerms != c.DrawTerms {
			t.Errorf("a copy is %+v (%v), want the window and the draw of %+v", copied, err, c)
		}
		public, err := w.Environment().Draw(w.Ctx, w.state().Sale)
		check(t, err == nil && fmt.Sprint(public.Calls) == fmt.Sprint([]draw.Call{first, second}) && public.HasSeed(), "public is %+v (%v)", public, err)
		w.trail(9, false, "2 "+w.changeID(2)+" call by \"draw\" because call 2 false "+window(second), "1 "+w.changeID(1)+" call by \"draw\" because call 1 false "+window(first))
		w.hasNumber(sale.ReadsDraws, "SALE#moutai", "SALE", "minReader")
		w.hasNumber(sale.ReadsDraws, "CLAIM#moutai#0", users[0], "minReader")
	},
	"an open call that was cut off is completed at any time, and sells before that": func(t *testing.T, w *World) {
		w.rolled(2, 2, 0)
		w.begun(nil)
		ctx, dying := w.cutAfter(1) // one shard
		w.Refused(sale.Busy, errOf(dying.FinishCall(ctx, "moutai", nil, gap)))
		w.Pass(time.Hour)
		d := w.state()
		check(t, !d.Last.Complete && d.NextCallAt(gap).After(w.Now()), "got %+v, want that no other call follows", d)
		call := w.completes(nil)
		check(t, call.Complete && call.Stock == 2, "got %+v", call)
		for i := range 2 {
			w.allBuy(fmt.Sprint("user-", i))
		}
	},
	"a call for no unit, or that nobody completed, is followed by the next one": func(t *testing.T, w *World) {
		_, users, ranks := w.rolled(1, 1, 8)
		w.calls(ranks)
		late := w.heldBack(users[0])
		w.moment(w.state().NextCallAt(gap))
		if !w.state().HasStock || !w.begins(ranks) {
			t.Fatal("no call begins")
		}
		w.tamper("STOCK#moutai#0", "STOCK", "SET stock = :none", attributes(map[string]any{":none": 0}))
		empty := w.completes(ranks)
		check(t, empty.Hi == empty.Lo && empty.Lo == ranks[0] && empty.Stock == 0 && empty.CallsNobody(), "got %+v, want a call for nobody", empty)
		w.isCancelled(late())
		w.tamper("STOCK#moutai#0", "STOCK", "SET stock = :one", attributes(map[string]any{":one": 1}))
		w.moment(empty.From.Add(gap - time.Millisecond))
		check(t, !w.begins(ranks), "begun before the gap has passed")
		w.Pass(time.Millisecond)
		if !w.state().HasStock || !w.begins(ranks) {
			t.Fatal("no third call begins")
		}
		third := w.state().Last
		var held *dynamodb.UpdateItemInput
		slow := w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
			if update, ok := in.(*dynamodb.UpdateItemInput); ok && value(update.Key["pk"]) == "DRAW#moutai" {
				held = update
				return nil, errDead
			}
			return call()
		})
		w.Refused(sale.Busy, errOf(slow.FinishCall(w.Ctx, "moutai", ranks, gap)))
		w.moment(third.From.Add(gap))
		fourth := w.calls(ranks)
		check(t, fourth.Number == 4 && fourth.Lo == ranks[0] && fourth.Hi == ranks[1], "got %+v, want the people of the call before", fourth)
		w.callItem(3, map[string]any{"from": third.From, "until": third.Until, "lo": ranks[0].String(), "hi": ranks[0].String()})
		_, err := w.Engine.API.UpdateItem(w.Ctx, held)
		check(t, err != nil, "a call that is over gets its people late")
		w.callItem(3, map[string]any{"from": third.From, "until": third.Until, "lo": ranks[0].String(), "hi": ranks[0].String()})
	},
	"a call that is finished too late calls nobody, but the shards get its window": func(t *testing.T, w *World) {
		_, _, ranks := w.rolled(2, 2, 8)
		w.begun(ranks)
		begun := w.state().Last
		w.moment(begun.From.Add(gap + time.Millisecond))
		call := w.completes(ranks)
		check(t, call.Complete && call.CallsNobody(), "got %+v, although its people would have less time", call)
		w.callItem(1, map[string]any{"from": begun.From, "until": begun.Until, "lo": begun.Lo.String(), "hi": begun.Lo.String()})
		for k := range 2 {
			w.hasNumber(begun.From.UnixMilli(), fmt.Sprintf("STOCK#moutai#%d", k), "STOCK", "opensAt")
		}
	},
	"a call that is completed while the next one begins is not taken for one that nobody completed": func(t *testing.T, w *World) {
		_, _, ranks := w.rolled(2, 1, 8)
		w.begun(ranks)
		before := w.state()
		call := w.completes(ranks)
		w.moment(call.From.Add(gap))
		begun, err := w.Environment().BeginCall(w.Ctx, before, ranks, gap)
		w.Refused(sale.Busy, err)
		d := w.state()
		check(t, !begun && d.Sale.Call == 1 && d.Last.Hi == ranks[1], "begun is %t: %+v", begun, d)
	},
	"a call by rank is not completed by a run that has not read the roll": func(t *testing.T, w *World) {
		_, _, ranks := w.rolled(2, 1, 8)
		w.begun(ranks)
		w.Refused(sale.Busy, errOf(w.Environment().FinishCall(w.Ctx, "moutai", nil, gap)))
		call := w.completes(ranks)
		check(t, call.Stock == 2 && call.Hi == ranks[1], "got %+v", call)
	},
	"whom a call is for is written once": func(t *testing.T, w *World) {
		_, _, ranks := w.rolled(2, 1, 8)
		w.begun(ranks)
		var first draw.Call
		more := once(func() { w.Add("more", 1) })
		slow := w.Hooked(func(op string, in any, call func() (any, error)) (any, error) {
			if update, ok := in.(*dynamodb.UpdateItemInput); ok && value(update.Key["pk"]) == "DRAW#moutai" && first.Number == 0 {
				first = w.completes(ranks)
			}
			out, err := call()
			if op == "BatchGetItem" { // what it has read of the stock is no longer so
				more()
			}
			return out, err
		})
		second, err := slow.FinishCall(w.Ctx, "moutai", ranks, gap)
		check(t, err == nil && second == first && first.Stock == 3 && first.Hi == ranks[2], "got %+v (%v), the other run %+v", second, err, first)
	},
	"a withdrawal that the first call overtakes stays refused when nothing is left": func(t *testing.T, w *World) {
		_, users, ranks := w.rolled(1, 1, 8)
		var call draw.Call
		slow := w.overtaken("BatchGetItem", func() { call = w.calls(ranks) })
		w.Refused(sale.Conflicting, errOf(slow.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "slow", Stock: 2})))
		w.moment(call.From)
		w.allBuy(users[0])
		before := w.everything()
		w.Refused(sale.Conflicting, errOf(w.Environment().Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "slow", Stock: 2})))
		w.unchanged(before)
	},
	"a withdrawal before the first call takes what another one has left of a shard": func(_ *testing.T, w *World) {
		w.rolled(3, 1, 8)
		slow := w.overtaken("BatchGetItem", func() { w.withdraws(w.Ledger, "typo", 1, done(1, 2, 1, true)) })
		w.withdraws(slow, "slow", 3, done(2, 0, 1, true))
	},
	"units are withdrawn before the first call and not afterwards, not even by a step that is under way": func(t *testing.T, w *World) {
		c, _, ranks := w.rolled(6, 3, 8)
		w.withdraws(w.Ledger, "typo", 1, done(1, 5, 3, true))
		slow := w.overtaken("BatchGetItem", func() { w.calls(ranks) })
		w.Refused(sale.Conflicting, errOf(slow.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "slow", Stock: 2})))
		before := w.everything()
		w.refusedBecause("people have been called: the units are kept for them", sale.Conflicting, errOf(w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "late", Stock: 2})))
		w.Refused(sale.Conflicting, errOf(w.Ledger.Withdraw(w.Ctx, sale.Withdrawal{SaleID: "moutai", SeedID: "slow", Stock: 2})))
		w.withdraws(w.Environment(), "typo", 1, done(1, 5, 3, false))
		w.unchanged(before)
		left := w.Stock(3)
		check(t, left[0]+left[1]+left[2] == 5, "%v are left, want 5 of %d", left, c.Stock)
		w.Add("more", 2)
		call := w.next(ranks)
		check(t, call.Lo == ranks[4] && call.Hi == ranks[7] && call.Stock == 7, "got %+v", call)
	},
}

// beginnings are when a call may begin and when it may not.
func beginnings() map[string]func(*testing.T, *World) {
	all := map[string]func(*testing.T, *World){}
	for name, tt := range map[string]struct {
		before func(w *World, c sale.Creation, ranks []draw.Rank)
		begins bool
	}{
		"at the first instant": {func(*World, sale.Creation, []draw.Rank) {}, true},
		"too early":            {func(w *World, _ sale.Creation, _ []draw.Rank) { w.Pass(-time.Millisecond) }, false},
		"paused":               {func(w *World, _ sale.Creation, _ []draw.Rank) { w.edit(sale.Edit{SaleID: "moutai", Paused: new(true)}) }, false},
		"recalled":             {func(w *World, _ sale.Creation, _ []draw.Rank) { w.recalls("", true) }, false},
		"just before the end": {func(w *World, c sale.Creation, _ []draw.Rank) {
			w.moment(c.ClosesAt.Add(-gap/4 - time.Millisecond))
		}, true},
		"without a window": {func(w *World, c sale.Creation, _ []draw.Rank) { w.moment(c.ClosesAt.Add(-gap / 4)) }, false},
		"during a call":    {func(w *World, _ sale.Creation, ranks []draw.Rank) { w.calls(ranks) }, false},
		"in the gap": {func(w *World, _ sale.Creation, ranks []draw.Rank) {
			w.moment(w.calls(ranks).Until.Add(gap - time.Millisecond))
		}, false},
		"after the gap": {func(w *World, _ sale.Creation, ranks []draw.Rank) { w.moment(w.calls(ranks).Until.Add(gap)) }, true},
	} {
		all[fmt.Sprintf("a call %s begins: %t", name, tt.begins)] = func(t *testing.T, w *World) {
			c, _, ranks := w.rolled(2, 1, 8)
			tt.before(w, c, ranks)
			same(t, w.begins(ranks), tt.begins)
		}
	}
	for name, edit := range map[string]func(w *World, c sale.Creation, first draw.Call){
		"a pause": func(w *World, _ sale.Creation, _ draw.Call) { w.edit(sale.Edit{SaleID: "moutai", Paused: new(true)}) },
		"a later end of the call before it": func(w *World, c sale.Creation, first draw.Call) {
			w.edit(sale.Edit{SaleID: "moutai", OpensAt: c.OpensAt, ClosesAt: c.ClosesAt, Until: first.Until.Add(time.Hour)})
		},
		"a recall": func(w *World, _ sale.Creation, _ draw.Call) { w.recalls("", true) },
	} {
		all["a call that is overtaken by "+name+" is judged again"] = func(t *testing.T, w *World) {
			c, _, ranks := w.rolled(2, 1, 8)
			first := w.calls(ranks)
			w.moment(first.Until.Add(gap))
			d := w.state()
			slow := w.overtaken("TransactWriteItems", func() { edit(w, c, first) })
			begun, err := slow.BeginCall(w.Ctx, d, ranks, gap)
			check(t, err == nil && !begun, "begun is %t (%v)", begun, err)
			same(t, w.state().Sale.Call, 1)
		}
	}
	all["a call that is overtaken by a description begins"] = func(t *testing.T, w *World) {
		_, _, ranks := w.rolled(2, 1, 8)
		for number := range int64(2) {
			d := w.state()
			w.moment(d.NextCallAt(gap))
			slow := w.overtaken("TransactWriteItems", func() {
				w.Succeeds(w.Ledger.Describe(w.Ctx, sale.Description{SaleID: "moutai", About: new(fmt.Sprint("before call ", number+1))}))
			})
			begun, err := slow.BeginCall(w.Ctx, d, ranks, gap)
			check(t, err == nil && begun, "begun is %t (%v)", begun, err)
			w.completes(ranks)
			d = w.state()
			check(t, d.Sale.Call == number+1 && d.Sale.Edits == 2*(number+1), "got %+v", d)
		}
	}
	return all
}

// changeID is the id of a change.
func (w *World) changeID(number int) string {
	return value(w.Item("CHANGES#moutai", fmt.Sprintf("%010d", number))["id"])
}

// window is a call's, as says writes it.
func window(c draw.Call) string {
	return c.From.UTC().Format("15:04") + "-" + c.Until.UTC().Format("15:04")
}

// callItem expects what the table says of a call.
func (w *World) callItem(number int, want map[string]any) {
	w.T.Helper()
	it := w.Item("DRAW#moutai", fmt.Sprintf("CALL#%010d", number))
	got := map[string]string{}
	for name, v := range it {
		if name != "pk" && name != "sk" && name != "at" {
			got[name] = value(v)
		}
	}
	wanted := map[string]string{}
	for name, v := range attributes(want) {
		wanted[name] = value(v)
	}
	if want["open"] == true {
		wanted["open"] = "true"
	}
	same(w.T, fmt.Sprint(got), fmt.Sprint(wanted), "call %d", number)
}
