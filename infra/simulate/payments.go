package simulate

import (
	"context"
	"errors"
	"strconv"
	"time"

	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

const (
	// payWithin and grace are those of the scenarios with payments.
	payWithin = time.Minute
	grace     = time.Minute
)

// payments are the scenarios in which orders are paid, released or cancelled.
var payments = []scenario{
	{
		name: "a payment while its claim is released", stock: 1, shards: 1, payWithin: payWithin,
		prepare: func(r *run) { r.due("alice") },
		act: func(r *run) {
			r.during(func() { r.calmly(func() { r.pays("alice", "pi_1") }) }, func() { r.releases() })
		},
		judge: func(r *run) { r.settledWith(1, "alice") },
	},
	{
		name: "a release while its claim is paid", stock: 1, shards: 1, payWithin: payWithin,
		prepare: func(r *run) { r.due("alice") },
		act: func(r *run) {
			r.during(func() { r.calmly(func() { r.releases() }) }, func() { r.pays("alice", "pi_1") })
		},
		judge: func(r *run) { r.settledWith(1, "alice") },
	},
	{
		name: "a payment while its claim is cancelled", stock: 1, shards: 1, payWithin: payWithin,
		prepare: func(r *run) { r.confirmed("alice") },
		act: func(r *run) {
			r.during(func() { r.calmly(func() { r.pays("alice", "pi_1") }) }, func() { r.cancels("alice") })
		},
		judge: func(r *run) { r.settledWith(1, "alice") },
	},
	{
		name: "a cancellation while its claim is released", stock: 1, shards: 1, payWithin: payWithin,
		prepare: func(r *run) { r.due("alice") },
		act: func(r *run) {
			r.during(func() { r.calmly(func() { r.cancels("alice") }) }, func() { r.releases() })
		},
		judge: func(r *run) { r.settledWith(0, "alice") },
	},
	{
		name: "two passes at once", stock: 2, shards: 1, payWithin: payWithin,
		prepare: func(r *run) { r.due("alice", "bob") },
		act: func(r *run) {
			r.during(func() { r.calmly(func() { r.releases() }) }, func() { r.releases() })
		},
		judge: func(r *run) { r.settledWith(0, "alice", "bob") },
	},
	{
		name: "two payments of one order, one of them reported twice", stock: 1, shards: 1, payWithin: payWithin,
		prepare: func(r *run) { r.confirmed("alice") },
		act: func(r *run) {
			r.during(func() {
				r.calmly(func() {
					r.pays("alice", "pi_1")
					r.pays("alice", "pi_2")
				})
			}, func() { r.pays("alice", "pi_1") })
		},
		judge: func(r *run) { r.settledWith(2, "alice") },
	},
	{
		name: "a unit that comes back while its shard is being closed", stock: 1, shards: 1, payWithin: payWithin,
		prepare: func(r *run) { r.due("alice") },
		act: func(r *run) {
			e := r.start(purchasing, 0)
			r.during(func() { r.calmly(func() { r.releases() }) }, func() { r.buys(e, "bob", "") })
			time.Sleep(remembered) // now no environment may refuse because of older data
			if e.dead.Load() {
				e = r.start(purchasing, 0)
			}
			r.buys(e, "bob", "")
		},
		judge: func(r *run) {
			r.sold(2)
			r.settledWith(0, "alice")
		},
	},
	{
		name: "a unit that comes back during a restock", stock: 1, shards: 1, payWithin: payWithin,
		prepare: func(r *run) { r.due("alice") },
		act: func(r *run) {
			r.during(func() { r.calmly(r.restocks) }, func() { r.releases() })
		},
		judge: func(r *run) { r.settledWith(0, "alice") },
	},
}

// confirmed buys for the users and confirms their orders.
func (r *run) confirmed(users ...string) {
	for _, user := range users {
		r.buys(r.start(purchasing, 0), user, "")
	}
	r.deliverAll(r.start(finalizing, 0))
}

// due does the same and waits until nothing keeps the claims from being released.
func (r *run) due(users ...string) {
	r.confirmed(users...)
	time.Sleep(payWithin + grace + time.Second)
}

// calls runs one call of a paying environment's ledger, within the time of an
// invocation. It reports false if there was no answer.
func (r *run) calls(call func(context.Context, *ledger.Ledger) error) (ok bool, err error) {
	e := r.start(paying, 0)
	end := e.invoke(func(ctx context.Context) {
		ctx, cancel := invocation.Bound(ctx)
		defer cancel()
		err = call(ctx, e.book)
	})
	r.inTime(paying, end.took)
	return !end.died, err
}

// pays reports a payment until it is recorded, as its provider does.
func (r *run) pays(user, reference string) {
	id, err := strconv.ParseUint(readBooks(r.db, saleID).claims[user].orderID, 10, 64)
	if err != nil {
		r.violate("P7: %s has no order", user)
		return
	}
	p := sale.Payment{Provider: "stripe", Reference: reference, SaleID: saleID, OrderID: id, Amount: 100, Currency: "CNY"}
	for range 10 {
		var done ledger.Settlement
		ok, err := r.calls(func(ctx context.Context, book *ledger.Ledger) (err error) {
			done, err = book.Pay(ctx, p)
			return err
		})
		r.chooser.tell("%s of %s: %t %v, refund %v", reference, user, ok, err, done.Refund)
		switch {
		case ok && err == nil:
			if refunded, known := r.paid[p]; known && refunded != (done.Refund != nil) {
				r.violate("P24: %s is its order's and a refund", reference)
			}
			r.paid[p] = done.Refund != nil
			return
		case ok && sale.CodeOf(err) != sale.Busy:
			r.violate("P24: %s is answered %v", reference, err)
		}
		time.Sleep(time.Second)
	}
	r.violate("P24: %s is never recorded", reference)
}

// releases makes a pass, and reports whether it was completed.
func (r *run) releases() bool {
	var out passes
	took, err := r.start(releasing, 0).command("{}", &out)
	r.inTime(releasing, took)
	r.restocked = time.Now()
	r.chooser.tell("release: %v %+v", err, out)
	if out.fails(err) {
		r.violate("P22: a pass fails with %v", err)
	}
	return err == nil && len(out.Passes) == 1 && out.Passes[0].Complete
}

// passes is the part of the release function's answer that the checks use.
type passes struct {
	Passes []struct {
		SaleID            string
		Complete          bool
		Released, PutBack int
	}
}

// fails reports whether an error of the function is more than a lack of time or luck.
func (p passes) fails(err error) bool {
	return err != nil && !errors.Is(err, errDied) && codeOf(err) != string(sale.Busy)
}

// cancels asks for a cancellation until there is an answer.
func (r *run) cancels(user string) {
	for range 10 {
		ok, err := r.calls(func(ctx context.Context, book *ledger.Ledger) error {
			_, err := book.Cancel(ctx, saleID, user)
			return err
		})
		r.chooser.tell("%s cancels: %t %v", user, ok, err)
		switch code := sale.CodeOf(err); {
		case !ok || code == sale.Busy:
			time.Sleep(time.Second)
			continue
		case err != nil && code != sale.OrderPaid && code != sale.OrderExpired:
			r.violate("P20: %s cancels and is told %v", user, err)
		}
		return
	}
	r.violate("P5: %s gets no answer to a cancellation", user)
}

// settledWith makes passes until nothing is left to release or to put back, and then
// checks that so many payments were recorded, each as its order's payment or a refund
// due, and that the users' claims are final (P20 to P24).
func (r *run) settledWith(payments int, users ...string) {
	for minute := 0; ; minute++ {
		time.Sleep(time.Minute)
		complete := r.releases()
		b := readBooks(r.db, saleID)
		waiting := false
		for _, s := range b.shards {
			waiting = waiting || s.released != s.putBack
		}
		for _, user := range users {
			waiting = waiting || b.claims[user].payment == "" && !b.claims[user].released
		}
		if complete && !waiting {
			break
		}
		if minute == 5 {
			r.violate("P22: after %d minutes something is left to release or to put back", minute)
			return
		}
	}
	before := r.db.Dump()
	b := readBooks(r.db, saleID)
	r.found = append(r.found, b.audit()...)
	if len(r.paid) != payments {
		r.violate("P24: %d payments are recorded, want %d", len(r.paid), payments)
	}
	for p, refunded := range r.paid {
		if isRefund := r.db.Item(tableName, "REFUND#"+saleID, p.ID()) != nil; isRefund != refunded {
			r.violate("P24: %s was said to be a refund: %t, and is one: %t", p.Reference, refunded, isRefund)
		}
		of := 0
		for _, c := range b.claims {
			if c.payment == p.ID() {
				of++
			}
		}
		if of > 1 || (of == 1) == refunded {
			r.violate("P24: %s is to be refunded: %t, and the payment of %d orders", p.Reference, refunded, of)
		}
		r.pays(userOf(b, p.OrderID), p.Reference)
	}
	if after := r.db.Dump(); after != before {
		r.violate("P9: reporting payments again changed the table from\n%s to\n%s", before, after)
	}
}

func userOf(b *books, orderID uint64) string { return b.orders[strconv.FormatUint(orderID, 10)].user }
