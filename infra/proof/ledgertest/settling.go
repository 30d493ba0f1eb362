package ledgertest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

const (
	payWithin = 30 * time.Minute
	grace     = 2 * time.Minute
)

// OpenUnpaid creates a sale that asks for payment within half an hour.
func (w *World) OpenUnpaid(stock int64, shards int) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	c.PayWithin = payWithin
	w.Create(c)
	return c
}

// OpenPriced creates one that asks for 1,999.00.
func (w *World) OpenPriced(stock int64, shards int) sale.Creation {
	w.T.Helper()
	c := w.Sale(stock, shards)
	c.PayWithin, c.Price, c.Currency = payWithin, 199900, "CNY"
	w.Create(c)
	return c
}

// Ordered buys for the users and confirms their claims.
func (w *World) Ordered(users ...string) []uint64 {
	w.T.Helper()
	return w.confirmed(w.bought(users...))
}

// PaymentOf is a payment of an order.
func PaymentOf(orderID uint64, reference string) sale.Payment {
	return sale.Payment{Provider: "stripe", Reference: reference, SaleID: "moutai", OrderID: orderID, Amount: 199900, Currency: "CNY"}
}

// Settles records a payment, or ends the test.
func (w *World) Settles(p sale.Payment) ledger.Settlement {
	w.T.Helper()
	if err := p.Check(); err != nil {
		w.T.Fatalf("check payment: %v", err)
	}
	done, err := w.Environment().Pay(w.Ctx, p)
	if err != nil {
		w.T.Fatalf("pay: %v", err)
	}
	return done
}

// refunded expects that a payment is to be refunded for that reason, at its first report
// and at its repeat.
func (w *World) refunded(p sale.Payment, saleID, user string, reason sale.RefundReason) {
	w.T.Helper()
	at := w.Now()
	for _, isNew := range []bool{true, false} {
		got := w.Settles(p)
		want := sale.Refund{
			SaleID: saleID, Payment: p.ID(), OrderID: p.OrderID, User: user, Reason: reason, Amount: p.Amount, Currency: p.Currency, At: at,
		}
		if got.Refund == nil || *got.Refund != want || got.New != isNew {
			w.T.Errorf("got %+v, refund %+v, want %+v, new: %t", got, got.Refund, want, isNew)
		}
		w.Pass(time.Second)
	}
}

// ReleasesBy makes a pass in that environment.
func (w *World) ReleasesBy(l *ledger.Ledger) ledger.ReleaseResult {
	w.T.Helper()
	listing, err := l.Listing(w.Ctx, "moutai")
	if err != nil {
		w.T.Fatalf("listing: %v", err)
	}
	done, err := l.ReleaseDue(w.Ctx, listing, grace)
	if err != nil {
		w.T.Fatalf("release: %v", err)
	}
	return done
}

// releases makes a complete pass that releases and puts back so many.
func (w *World) releases(released int, putBack int64) ledger.ReleaseResult {
	w.T.Helper()
	done := w.ReleasesBy(w.Environment())
	if !done.Complete || done.Released != released || done.PutBack != putBack {
		w.T.Errorf("got %+v, want %d released and %d put back", done, released, putBack)
	}
	return done
}

// states expects the state of each user's claim.
func (w *World) states(want map[string]sale.ClaimState) {
	w.T.Helper()
	for user, state := range want {
		if c, err := w.Environment().Claim(w.Ctx, "moutai", user); err != nil || c.State() != state {
			w.T.Errorf("%s: got %+v (%v), want %s", user, c, err, state)
		}
	}
}

// Cancels cancels the orders of users, or ends the test.
func (w *World) Cancels(users ...string) {
	w.T.Helper()
	for _, user := range users {
		if _, err := w.Ledger.Cancel(w.Ctx, "moutai", user); err != nil {
			w.T.Fatalf("cancel: %v", err)
		}
	}
}

// Current is the sale as a new environment reads it.
func (w *World) Current() sale.Sale {
	w.T.Helper()
	s, err := w.Environment().Sale(w.Ctx, "moutai")
	if err != nil {
		w.T.Fatalf("sale: %v", err)
	}
	return s
}

// Listing is the sale in the list of sales.
func (w *World) Listing() ledger.Listing {
	w.T.Helper()
	listing, err := w.Ledger.Listing(w.Ctx, "moutai")
	if err != nil {
		w.T.Fatalf("listing: %v", err)
	}
	return listing
}

func (w *World) claimOf(user string) sale.Claim {
	w.T.Helper()
	c, err := w.Environment().Claim(w.Ctx, "moutai", user)
	if err != nil {
		w.T.Fatal(err)
	}
	return c
}

// Settled checks the books of a sale that asks for payment: per shard, stock and claims
// are what was seeded and put back, and the released claims are counted.
func (w *World) Settled(shards int) {
	w.T.Helper()
	claims, released := w.Claims(shards), map[int64]int64{}
	for bucket := range sale.BucketsFor(shards) {
		for _, it := range w.Partition(fmt.Sprintf("CLAIM#moutai#%d", bucket)) {
			if it["releasedAt"] != nil {
				released[numberOf(it, "shard")]++
			}
			if it["releasedAt"] != nil && it["paidAt"] != nil {
				w.T.Errorf("claim %v is paid and released (P20)", it)
			}
		}
	}
	for k := range int64(shards) {
		it := w.Item(fmt.Sprintf("STOCK#moutai#%d", k), "STOCK")
		stock, seeded, putBack := numberOf(it, "stock"), numberOf(it, "seeded"), numberOf(it, "putBack")
		if stock < 0 || stock+claims[k] != seeded+putBack || numberOf(it, "released") != released[k] || putBack > released[k] {
			w.T.Errorf("shard %d: %d claims, %d of them released: %v", k, claims[k], released[k], it)
		}
	}
}

func numberOf(it map[string]types.AttributeValue, name string) (n int64) {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		_, _ = fmt.Sscan(v.Value, &n)
	}
	return n
}

var settling = map[string]func(*testing.T, *World){
	"a sale that asks for payment is created once, and says so in its items": func(t *testing.T, w *World) {
		c := w.OpenPriced(5, 2)
		for _, key := range [][2]string{{"SALE#moutai", "SALE"}, {"SALE#moutai", "CREATE"}} {
			it := w.Item(key[0], key[1])
			if currency, _ := it["currency"].(*types.AttributeValueMemberS); numberOf(it, "payWithin") != 1800 ||
				numberOf(it, "price") != 199900 || currency == nil || currency.Value != "CNY" {
				t.Errorf("%v: got %v", key, it)
			}
		}
		if n := w.Number("SALES", "moutai", "payWithin"); n != 1800 {
			t.Errorf("the listing says %d", n)
		}
		if r, p := w.Number("STOCK#moutai#1", "STOCK", "released"), w.Number("STOCK#moutai#1", "STOCK", "putBack"); r != 0 || p != 0 {
			t.Errorf("a new shard has %d released, %d put back", r, p)
		}
		if again, err := w.Ledger.Create(w.Ctx, c); err != nil || again.Applied {
			t.Errorf("the repeat: %+v (%v)", again, err)
		}
		for name, change := range map[string]func(*sale.Creation){
			"payWithin": func(c *sale.Creation) { c.PayWithin += time.Second },
			"price":     func(c *sale.Creation) { c.Price++ },
			"currency":  func(c *sale.Creation) { c.Currency = "EUR" },
			"no price":  func(c *sale.Creation) { c.Price, c.Currency = 0, "" },
			"no time":   func(c *sale.Creation) { c.PayWithin = 0 },
		} {
			other := c
			change(&other)
			_, err := w.Ledger.Create(w.Ctx, other)
			if sale.CodeOf(err) != sale.Conflicting {
				t.Errorf("another %s: got %v", name, err)
			}
		}
	},
	"a sale with labels is created once, and its repeat must have the same": func(t *testing.T, w *World) {
		c := w.Sale(5, 2)
		c.Labels = labels
		w.Create(c)
		if again, err := w.Ledger.Create(w.Ctx, c); err != nil || again.Applied {
			t.Errorf("the repeat: %+v (%v)", again, err)
		}
		for _, other := range []sale.Labels{"", "sku=A-38", "campaign=1111,sku=A-38"} {
			c.Labels = other
			if _, err := w.Ledger.Create(w.Ctx, c); sale.CodeOf(err) != sale.Conflicting {
				t.Errorf("the labels %q: got %v", other, err)
			}
		}
		if s, err := w.Environment().Sale(w.Ctx, "moutai"); err != nil || s.Labels != labels {
			t.Errorf("the sale has %q (%v)", s.Labels, err)
		}
	},
	"a sale that asks for no payment has none of its attributes, and releases nothing": func(t *testing.T, w *World) {
		w.Open(5, 1)
		ids := w.Ordered("alice", "bob")
		for _, key := range [][2]string{{"SALE#moutai", "SALE"}, {"SALE#moutai", "CREATE"}, {"SALES", "moutai"}, {"STOCK#moutai#0", "STOCK"}} {
			for _, name := range []string{"payWithin", "price", "currency", "minReader", "released", "putBack", "nextDue", "releasing"} {
				if it := w.Item(key[0], key[1]); it[name] != nil {
					t.Errorf("%v has %s", key, name)
				}
			}
		}
		w.Pass(30 * 24 * time.Hour)
		w.releases(0, 0)
		_, err := w.Ledger.Cancel(w.Ctx, "moutai", "alice")
		w.Refused(sale.NotCancellable, err)
		p := PaymentOf(ids[0], "pi_1")
		if done := w.Settles(p); done.Refund != nil || done.SaleID != "moutai" {
			t.Errorf("got %+v: an order of any sale can be paid", done)
		}
		w.states(map[string]sale.ClaimState{"alice": sale.Paid, "bob": sale.Confirmed})
		w.Balanced(1)
	},
	"a payment is its order's, however often it is reported": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 2)
		ids := w.Ordered("alice", "bob")
		w.Pass(time.Minute)
		at := w.Now()
		for _, isNew := range []bool{true, false, false} {
			got, claim := w.Settles(PaymentOf(ids[0], "pi_1")), w.claimOf("alice")
			if got.Refund != nil || got.New != isNew || got.SaleID != "moutai" || got.Contradicts || !claim.PaidAt.Equal(at) || claim.Payment != "stripe#pi_1" {
				t.Errorf("got %+v of %+v, want it paid, new: %t", got, claim, isNew)
			}
			w.Pass(time.Hour)
		}
		w.states(map[string]sale.ClaimState{"alice": sale.Paid, "bob": sale.Confirmed})
		w.Settled(2)
	},
	"what cannot be its order's payment is a refund due, once": func(t *testing.T, w *World) {
		w.OpenPriced(5, 1)
		ids := w.Ordered("alice", "bob", "carol")
		w.Settles(PaymentOf(ids[0], "pi_1"))
		w.refunded(PaymentOf(ids[0], "pi_2"), "moutai", "alice", sale.RefundOtherPayment)
		other := PaymentOf(ids[0], "pi_1")
		other.Provider = "other"
		w.refunded(other, "moutai", "alice", sale.RefundOtherPayment)
		less := PaymentOf(ids[1], "pi_3")
		less.Amount--
		w.refunded(less, "moutai", "bob", sale.RefundAmount)
		dollars := PaymentOf(ids[1], "pi_4")
		dollars.Currency = "USD"
		w.refunded(dollars, "moutai", "bob", sale.RefundAmount)
		elsewhere := PaymentOf(ids[1], "pi_5")
		elsewhere.SaleID = "maotai"
		w.refunded(elsewhere, "", "", sale.RefundUnknownOrder)
		w.refunded(PaymentOf(0, "pi_6"), "", "", sale.RefundUnknownOrder)
		unnamed := PaymentOf(ids[1], "pi_7")
		unnamed.SaleID = ""
		if done := w.Settles(unnamed); done.Refund != nil {
			t.Errorf("got %+v: the order id alone names the order", done.Refund)
		}
		w.states(map[string]sale.ClaimState{"alice": sale.Paid, "bob": sale.Paid, "carol": sale.Confirmed})
		for saleID, want := range map[string]string{
			"moutai": "other#pi_1 other-payment, stripe#pi_2 other-payment, stripe#pi_3 amount, stripe#pi_4 amount",
			"":       "stripe#pi_5 unknown-order, stripe#pi_6 unknown-order", "maotai": "",
		} {
			refunds, err := w.Ledger.Refunds(w.Ctx, saleID)
			var got []string
			for _, r := range refunds {
				got = append(got, r.Payment+" "+string(r.Reason))
			}
			if strings.Join(got, ", ") != want || err != nil {
				t.Errorf("sale %q: got %q (%v), want %q", saleID, got, err, want)
			}
		}
	},
	"a payment whose order item is late waits for it, for a day": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		refs := w.bought("alice")
		ctx, dying := w.cutAfter(2) // the sequence, the claim; no order
		if c := dying.Confirm(ctx, refs); c[0].Err == nil {
			t.Fatal("an order item was written")
		}
		held, err := w.Ledger.Claim(w.Ctx, "moutai", "alice")
		if err != nil || held.OrderID == 0 {
			t.Fatalf("got %+v (%v)", held, err)
		}
		early, late := PaymentOf(held.OrderID, "pi_1"), PaymentOf(held.OrderID, "pi_2")
		w.Pass(orderid.Time(held.OrderID).Add(ledger.LateOrderWait).Sub(w.Now()) - time.Millisecond)
		_, err = w.Ledger.Pay(w.Ctx, early)
		w.Refused(sale.Busy, err)
		w.Pass(time.Millisecond)
		w.refunded(late, "", "", sale.RefundUnknownOrder)
		w.confirmed(refs) // reconciliation had its message sent again
		w.Pass(time.Hour)
		if done := w.Settles(late); done.Refund == nil || done.Refund.Reason != sale.RefundUnknownOrder {
			t.Errorf("got %+v: a payment became a refund due and its order's (P24)", done)
		}
		if done := w.Settles(early); done.Refund != nil || w.claimOf("alice").Payment != early.ID() {
			t.Errorf("got %+v (%+v), want it paid", done, done.Refund)
		}
		if refunds, err := w.Ledger.Refunds(w.Ctx, ""); err != nil || len(refunds) != 1 {
			t.Errorf("got %+v (%v), want one refund", refunds, err)
		}
	},
	"a payment whose order appears while it is looked for is not refunded": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		refs := w.bought("alice")
		id := w.Ordered("bob")[0] + 1 // what alice is going to get
		w.Pass(ledger.LateOrderWait + time.Second)
		appears := w.overtaken("TransactWriteItems", func() {
			// Its id was reserved a day ago.
			past := ledger.New(w.Engine.API, w.Engine.Table, ledger.Options{Now: func() time.Time { return Start }})
			if c := past.Confirm(w.Ctx, refs)[0]; c.Err != nil || c.Order.ID != id {
				t.Fatalf("got %+v, want order %d", c, id)
			}
		})
		_, err := appears.Pay(w.Ctx, PaymentOf(id, "pi_1"))
		w.Refused(sale.Busy, err)
		if done := w.Settles(PaymentOf(id, "pi_1")); done.Refund != nil {
			t.Errorf("got %+v, want it paid", done.Refund)
		}
		if w.Item("REFUND#", "stripe#pi_1") != nil {
			t.Error("a payment is its order's and a refund due (P24)")
		}
	},
	"an order whose claim has another order or none, or is gone, is not paid": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		isRefused := func(reference string) {
			t.Helper()
			_, err := w.Ledger.Pay(w.Ctx, PaymentOf(id, reference))
			w.Refused(sale.Internal, err)
		}
		for update, values := range map[string]map[string]types.AttributeValue{"REMOVE orderId": nil, "SET orderId = :one": one()} {
			w.tamper("CLAIM#moutai#0", "alice", update, values)
			isRefused("pi_1")
			if w.Item("CLAIM#moutai#0", "alice")["paidAt"] != nil {
				t.Errorf("%s: it is paid", update)
			}
		}
		w.tamper("CLAIM#moutai#0", "alice", "SET orderId = :one", one())
		w.paid("alice", 1)
		isRefused("pi_1") // the other order's
		isRefused("pi_2")
		w.remove(w.Item("CLAIM#moutai#0", "alice"))
		isRefused("pi_1")
		if it := w.Item("CLAIM#moutai#0", "alice"); it != nil {
			t.Errorf("made %v", it)
		}
		if refunds := w.Partition("REFUND#moutai"); len(refunds) > 0 {
			t.Errorf("what goes back is %v", refunds)
		}
	},
	"an id of the far future is of an unknown order": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		for in, want := range map[time.Duration]bool{time.Hour: false, ledger.LateOrderWait + time.Second: true} {
			id, err := orderid.New(w.Now().Add(in), 1)
			if err != nil {
				t.Fatal(err)
			}
			done, err := w.Ledger.Pay(w.Ctx, PaymentOf(id, fmt.Sprint("pi_", in)))
			if got := err == nil && done.Refund != nil; got != want || !want && sale.CodeOf(err) != sale.Busy {
				t.Errorf("in %v: got %+v (%v)", in, done, err)
			}
		}
	},
	"a listing notes a refund if the one that it notes is older than an hour, for one environment": notesRefunds(func(w *World) *ledger.Ledger { return w.Ledger }),
	"a listing notes a refund if the one that it notes is older than an hour, for several":         notesRefunds((*World).Environment),
	"the list of sales forgets a refund that is done, but none that is due or was noted since": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		pays := func(reference string) {
			w.Settles(PaymentOf(id, reference))
			if _, _, err := w.Ledger.MarkRefunded(w.Ctx, "moutai", "stripe#"+reference); err != nil {
				t.Fatal(err)
			}
		}
		counts := func(notedAt time.Time) {
			if err := w.Ledger.CountRefunds(w.Ctx, &ledger.RefundCount{SaleID: "moutai", NotedAt: notedAt}); err != nil {
				t.Fatal(err)
			}
		}
		first := w.Now()
		pays("pi_1")
		w.Pass(2 * time.Hour)
		second := w.Now()
		pays("pi_2")
		counts(first)
		if at := w.Number("SALES", "moutai", "refundAt"); at != second.UnixMilli() {
			t.Errorf("the listing notes %d, want the refund of %d", at, second.UnixMilli())
		}
		w.Pass(time.Hour + ledger.DrainAfter - time.Millisecond)
		counts(second)
		if at := w.Number("SALES", "moutai", "refundAt"); at != second.UnixMilli() {
			t.Errorf("the listing notes %d, want the refund of %d, on which a slow clock may rely", at, second.UnixMilli())
		}
		w.Pass(time.Millisecond)
		counts(second)
		if it := w.Item("SALES", "moutai"); it["refundAt"] != nil {
			t.Errorf("the listing still notes a refund: %v", it["refundAt"])
		}
		third := w.Now()
		w.Settles(PaymentOf(id, "pi_3"))
		w.Pass(2 * time.Hour)
		counts(third)
		if at := w.Number("SALES", "moutai", "refundAt"); at != third.UnixMilli() {
			t.Errorf("the listing notes %d, want the refund of %d, which is still due", at, third.UnixMilli())
		}
		if _, _, err := w.Ledger.MarkRefunded(w.Ctx, "moutai", "stripe#pi_3"); err != nil {
			t.Fatal(err)
		}
		unreadable := w.Item("REFUND#moutai", "stripe#pi_3")
		delete(unreadable, "amount")
		w.place(unreadable)
		w.Refused(sale.Internal, w.Ledger.CountRefunds(w.Ctx, &ledger.RefundCount{SaleID: "moutai", NotedAt: third}))
		if at := w.Number("SALES", "moutai", "refundAt"); at != third.UnixMilli() {
			t.Errorf("the listing notes %d, want the refund of %d, which may still be due", at, third.UnixMilli())
		}
	},
	"a refund is marked once": func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		w.Settles(PaymentOf(0, "pi_1"))
		_, _, err := w.Ledger.MarkRefunded(w.Ctx, "moutai", "stripe#pi_1")
		w.Refused(sale.OrderNotFound, err)
		at := w.Now()
		for _, isFirst := range []bool{true, false} {
			got, marked, err := w.Ledger.MarkRefunded(w.Ctx, "", "stripe#pi_1")
			if err != nil || marked != isFirst || !got.RefundedAt.Equal(at) {
				t.Errorf("got %+v, %t (%v), want it marked: %t", got, marked, err, isFirst)
			}
			w.Pass(time.Minute)
		}
		if done := w.Settles(PaymentOf(0, "pi_1")); done.Refund == nil || !done.Refund.RefundedAt.Equal(at) {
			t.Errorf("a report of a payment that was refunded: %+v", done)
		}
		if w.Item("REFUND#moutai", "stripe#pi_1") != nil {
			t.Error("marking made a refund")
		}
	},
}

// notesRefunds records refunds of one sale, each in an environment of that kind.
func notesRefunds(environment func(*World) *ledger.Ledger) func(*testing.T, *World) {
	return func(t *testing.T, w *World) {
		w.OpenUnpaid(5, 1)
		id := w.Ordered("alice")[0]
		w.Settles(PaymentOf(id, "pi_0"))
		start := w.Now()
		for i, tt := range []struct{ passes, noted time.Duration }{
			{0, 0}, {time.Minute, 0}, {59 * time.Minute, 0}, {time.Millisecond, time.Hour + time.Millisecond},
		} {
			w.Pass(tt.passes)
			done, err := environment(w).Pay(w.Ctx, PaymentOf(id, fmt.Sprint("pi_", i+1)))
			if err != nil || done.Refund == nil {
				t.Fatalf("got %+v (%v)", done, err)
			}
			if at, want := w.Number("SALES", "moutai", "refundAt"), start.Add(tt.noted).UnixMilli(); at != want {
				t.Errorf("refund %d is noted at %d, want %d", i+1, at, want)
			}
		}
	}
}

// attributes are the values of an update, each an int, an instant or a string.
func attributes(values map[string]any) map[string]types.AttributeValue {
	all := map[string]types.AttributeValue{}
	for name, value := range values {
		switch v := value.(type) {
		case time.Time:
			all[name] = &types.AttributeValueMemberN{Value: strconv.FormatInt(v.UnixMilli(), 10)}
		case int:
			all[name] = &types.AttributeValueMemberN{Value: strconv.Itoa(v)}
		case string:
			all[name] = &types.AttributeValueMemberS{Value: v}
		}
	}
	return all
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

var paying = map[string]func(*testing.T, *World){
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
