package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func (w *World) bought(users ...string) []ledger.ClaimRef {
	w.T.Helper()
	refs := make([]ledger.ClaimRef, len(users))
	for i, user := range users {
		c := w.Accepted(w.Buy(user)).Claim
		refs[i] = ledger.ClaimRef{SaleID: c.SaleID, User: c.User, ClaimID: c.ID}
	}
	return refs
}

func (w *World) confirmed(refs []ledger.ClaimRef) []uint64 {
	w.T.Helper()
	ids := make([]uint64, len(refs))
	for i, c := range w.Ledger.Confirm(w.Ctx, refs) {
		if c.Err != nil {
			w.T.Fatalf("confirm %v: %v", refs[i], c.Err)
		}
		ids[i] = c.Order.ID
	}
	return ids
}

func people(n int) []string {
	users := make([]string, n)
	for i := range users {
		users[i] = fmt.Sprintf("user-%02d", i)
	}
	return users
}

var confirming = map[string]func(*testing.T, *World){
	"confirming gives each claim one order id, in time order, and an order item": func(t *testing.T, w *World) {
		w.Open(50, 5)
		refs := w.bought(people(25)...)
		first := w.confirmed(refs[:10])
		w.Pass(time.Second)
		second := w.confirmed(refs[10:])
		all := append(slices.Clone(first), second...)
		if !slices.IsSorted(first) || slices.Max(first) >= slices.Min(second) {
			t.Errorf("ids do not sort by confirmation: %v then %v", first, second)
		}
		slices.Sort(all)
		if len(slices.Compact(all)) != 25 {
			t.Error("an id was issued twice")
		}
		for i, ref := range refs {
			id := append(slices.Clone(first), second...)[i]
			c, err := w.Ledger.Claim(w.Ctx, "moutai", ref.User)
			if err != nil || c.OrderID != id || c.State() != sale.Confirmed {
				t.Errorf("claim %+v (%v), want order %d", c, err, id)
			}
			o, err := w.Ledger.Order(w.Ctx, id)
			if want := (sale.Order{ID: id, SaleID: "moutai", User: ref.User, ClaimID: ref.ClaimID}); err != nil || o != want {
				t.Errorf("got order %+v (%v), want %+v", o, err, want)
			}
		}
		if got := orderid.Time(first[0]); !got.Equal(Start) {
			t.Errorf("id says %v, want %v", got, Start)
		}
	},
	"confirming again gives the same id and takes no new one": func(t *testing.T, w *World) {
		w.Open(10, 1)
		refs := w.bought("alice", "bob")
		first := w.confirmed(refs)
		w.Pass(48 * time.Hour)
		again := w.Environment().Confirm(w.Ctx, refs)
		for i, c := range again {
			if c.Err != nil || c.New || c.Order.ID != first[i] {
				t.Errorf("got %+v, want order %d again", c, first[i])
			}
		}
		if it := w.Item("SEQ#2026-11-13", "SEQ"); it != nil {
			t.Errorf("a repeat took numbers: %v", it)
		}
	},
	"many finalizers at once give every claim one id": func(t *testing.T, w *World) {
		w.Open(30, 3)
		refs := w.bought(people(20)...)
		ids := make([][]ledger.Confirmation, 6)
		var wait sync.WaitGroup
		for i := range ids {
			wait.Go(func() { ids[i] = w.Environment().Confirm(w.Ctx, refs) })
		}
		wait.Wait()
		fresh := 0
		for i := range refs {
			for _, answers := range ids {
				if answers[i].Err != nil || answers[i].Order.ID != ids[0][i].Order.ID {
					t.Errorf("claim %d: %+v and %+v", i, answers[i], ids[0][i])
				}
				if answers[i].New {
					fresh++
				}
			}
		}
		if fresh != 20 {
			t.Errorf("%d confirmations were new, want 20", fresh)
		}
	},
	"a claim is found whatever is told of its sale's buckets": func(t *testing.T, w *World) {
		w.Open(400, 40)
		refs := w.bought(people(30)...)
		for i := range refs {
			refs[i].Buckets = []int{0, 10, 3, sale.MaxShards}[i%4] // not known, right, wrong, wrong
		}
		twice := append(slices.Clone(refs[:3]), refs[:3]...)
		for i := range 3 {
			twice[3+i].Buckets = 10 - twice[i].Buckets
		}
		for i, c := range w.Environment().Confirm(w.Ctx, twice) {
			if c.Err != nil || c.New != (i < 3) {
				t.Errorf("%v: %+v, want it confirmed once", twice[i], c)
			}
		}
		for i, c := range w.Environment().Confirm(w.Ctx, refs) {
			if c.Err != nil || c.New != (i >= 3) {
				t.Errorf("%v: %+v", refs[i], c)
			}
		}
	},
	"each poison claim fails alone and leaves no trace": func(t *testing.T, w *World) {
		w.Open(10, 4)
		good := w.bought("alice", "bob")
		before := w.everything()
		poison := []ledger.ClaimRef{
			{SaleID: "unknown", User: "alice", ClaimID: "claim-1"},
			{SaleID: "moutai", User: "nobody", ClaimID: "claim-1"},
			{SaleID: "moutai", User: "alice", ClaimID: "another"},
			{SaleID: "unknown", User: "alice", ClaimID: "claim-1", Buckets: 1},
			{SaleID: "moutai", User: "nobody", ClaimID: "claim-1", Buckets: 1},
			{SaleID: "moutai", User: "alice", ClaimID: "another", Buckets: 7},
		}
		for i, c := range w.Ledger.Confirm(w.Ctx, poison) {
			if sale.CodeOf(c.Err) != sale.Poison {
				t.Errorf("%v: got %v, want poison", poison[i], c.Err)
			}
		}
		if after := w.everything(); after != before {
			t.Errorf("poison wrote:\n%s\nbefore:\n%s", after, before)
		}
		mixed := append(append([]ledger.ClaimRef{good[0]}, poison...), good[1])
		for i, c := range w.Ledger.Confirm(w.Ctx, mixed) {
			if isGood := i == 0 || i == len(mixed)-1; isGood != (c.Err == nil) {
				t.Errorf("%v: got %v", mixed[i], c.Err)
			}
		}
		if n := w.Number("SEQ#2026-11-11", "SEQ", "next"); n != 2 {
			t.Errorf("%d numbers taken, want 2", n)
		}
	},
	"a confirmed claim whose order item is missing gets it": func(t *testing.T, w *World) {
		w.Open(10, 1)
		refs := w.bought("alice")
		ctx, dying := w.cutAfter(2) // the sequence, the claim
		got := dying.Confirm(ctx, refs)
		if got[0].Err == nil {
			t.Fatal("the order item was written by a dead writer")
		}
		id := got[0].Order.ID
		_, err := w.Ledger.Order(w.Ctx, id)
		w.Refused(sale.OrderNotFound, err)
		if ids := w.confirmed(refs); ids[0] != id {
			t.Errorf("got id %d, want the recorded %d", ids[0], id)
		}
		if _, err := w.Ledger.Order(w.Ctx, id); err != nil {
			t.Errorf("the order is still missing: %v", err)
		}
	},
	"ids of two days differ though both start at one": func(t *testing.T, w *World) {
		w.Open(10, 1)
		refs := w.bought("alice", "bob")
		w.Pass(4*time.Hour - time.Millisecond) // one before midnight
		first := w.confirmed(refs[:1])[0]
		w.Pass(time.Millisecond)
		second := w.confirmed(refs[1:])[0]
		if orderid.Sequence(first) != 1 || orderid.Sequence(second) != 1 || first >= second {
			t.Errorf("got %d and %d", first, second)
		}
	},
}

// everything is the items of the sale's table that a call could touch: of several shards
// and buckets the first.
func (w *World) everything() string {
	w.T.Helper()
	text := ""
	for _, pk := range []string{"SALE#moutai", "CLAIM#moutai#0", "SEQ#2026-11-11", "SALE#unknown", "CLAIM#unknown#0", "SALES", "STOCK#moutai#0", "GROUP#shoe"} {
		for _, it := range w.Partition(pk) {
			names := make([]string, 0, len(it))
			for name := range it {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, name := range names {
				text += fmt.Sprintf("%s=%v ", name, value(it[name]))
			}
			text += "\n"
		}
	}
	return text
}

var reading = map[string]func(*testing.T, *World){
	"what does not exist is not found": func(t *testing.T, w *World) {
		_, err := w.Ledger.Sale(w.Ctx, "moutai")
		w.Refused(sale.SaleNotFound, err)
		_, err = w.Ledger.Claim(w.Ctx, "moutai", "alice")
		w.Refused(sale.SaleNotFound, err)
		_, err = w.Ledger.Order(w.Ctx, 1<<32|1)
		w.Refused(sale.OrderNotFound, err)
		w.Pass(2 * time.Second)
		w.Open(1, 1)
		_, err = w.Ledger.Claim(w.Ctx, "moutai", "alice")
		w.Refused(sale.OrderNotFound, err)
	},
	"the units left are exact up to 100 shards with stock": func(t *testing.T, w *World) {
		w.Open(300, 100)
		w.bought(people(7)...)
		r := w.remaining()
		if r != (ledger.Remaining{Units: 293}) {
			t.Errorf("got %+v, want exactly 293", r)
		}
	},
	"beyond 100 shards the units left are a scaled sample": func(t *testing.T, w *World) {
		w.Open(1500, 150)
		if r := w.remaining(); r != (ledger.Remaining{Units: 1500, Approximate: true}) {
			t.Errorf("got %+v, want about 1500", r)
		}
	},
	"nothing is left only when every shard is empty": func(t *testing.T, w *World) {
		w.Open(3, 3)
		w.bought(people(2)...)
		if r := w.remaining(); r.Units != 1 {
			t.Errorf("got %+v, want 1", r)
		}
		w.bought("last")
		_, err := w.Buy("late")
		w.Refused(sale.SoldOut, err)
		w.Pass(2 * time.Second)
		if r := w.remaining(); r != (ledger.Remaining{}) {
			t.Errorf("got %+v, want none", r)
		}
	},
	"a pending claim may be resent after the grace, ever rarer, by one of many": func(t *testing.T, w *World) {
		w.Open(10, 1)
		w.Accepted(w.Buy("alice"))
		resend := func() bool {
			t.Helper()
			c := w.claimOf("alice")
			sent := 0
			for range 3 { // three who read the same claim
				mark, err := w.Ledger.MarkResent(w.Ctx, c, false)
				if err != nil {
					t.Fatal(err)
				}
				if !mark.IsZero() {
					sent++
				}
			}
			if sent > 1 {
				t.Errorf("%d of three may resend", sent)
			}
			return sent == 1
		}
		var at []int
		for second := range 600 {
			if resend() {
				at = append(at, second)
			}
			w.Pass(time.Second)
		}
		if fmt.Sprint(at) != "[31 63 127 255 511]" {
			t.Errorf("resent after %v seconds", at)
		}
		c := w.claimOf("alice")
		w.confirmed([]ledger.ClaimRef{{SaleID: "moutai", User: "alice", ClaimID: c.ID}})
		w.Pass(time.Hour)
		if mark, err := w.Ledger.MarkResent(w.Ctx, c, false); !mark.IsZero() || err != nil {
			t.Errorf("a claim that was confirmed meanwhile may be resent: %v (%v)", mark, err)
		}
	},
	"a claim whose message could not be sent gets its old mark back, and no other": func(t *testing.T, w *World) {
		w.Open(10, 1)
		w.Accepted(w.Buy("alice"))
		read := func() sale.Claim {
			t.Helper()
			c := w.claimOf("alice")
			return c
		}
		var old time.Time
		for _, hurry := range []bool{false, false, true} {
			w.Pass(time.Minute)
			c := read()
			mark, err := w.Ledger.MarkResent(w.Ctx, c, hurry)
			if due := hurry || old.IsZero(); err != nil || mark.IsZero() == due {
				t.Fatalf("marked at %v (%v), in a hurry: %t", mark, err, hurry)
			}
			if mark.IsZero() { // not yet: half of its age
				w.Pass(time.Second)
				c = read()
				if mark, err = w.Ledger.MarkResent(w.Ctx, c, false); mark.IsZero() || err != nil {
					t.Fatalf("marked at %v (%v)", mark, err)
				}
			}
			for _, other := range []time.Time{mark.Add(time.Millisecond), mark, mark} { // somebody else's; its own; again
				if err := w.Ledger.Unmark(w.Ctx, c, other); err != nil {
					t.Fatal(err)
				}
				if want := map[bool]time.Time{true: mark, false: old}[other.After(mark)].Truncate(time.Millisecond); !read().ResentAt.Equal(want) {
					t.Errorf("the claim was sent again at %v, want %v", read().ResentAt, want)
				}
			}
			if old, err = w.Ledger.MarkResent(w.Ctx, c, hurry); old.IsZero() || err != nil {
				t.Errorf("not due at once: %v", err)
			}
			old = old.Truncate(time.Millisecond)
		}
		w.Pass(ledger.ResendGrace)
		if mark, err := w.Ledger.MarkResent(w.Ctx, read(), true); !mark.IsZero() || err != nil {
			t.Errorf("marked at %v (%v), in a hurry, within the grace", mark, err)
		}
	},
	"an unreachable table is busy, never a refusal": func(t *testing.T, w *World) {
		w.Open(1, 1)
		dead := w.Hooked(dynamotest.Instead("GetItem", func() (*dynamodb.GetItemOutput, error) { return nil, errDead }))
		_, err := dead.Sale(w.Ctx, "moutai")
		w.Refused(sale.Busy, err)
		_, err = dead.Purchase(w.Ctx, ledger.Request{SaleID: "moutai", User: "alice"})
		if refused := w.Refused(sale.Busy, err); !errors.Is(refused, errDead) {
			t.Errorf("the cause is lost: %v", err)
		}
		_, err = dead.Order(w.Ctx, 1<<32|1)
		w.Refused(sale.Busy, err)
	},
}
