package simulate

import (
	"strings"
	"time"

	"flashsale/shared/httpapi"
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

// pays reports a payment until it is recorded, as its provider does. One in two is
// reported by Stripe.
func (r *run) pays(user, reference string) {
	c := readBooks(r.db, saleID).claims[user]
	if c.orderID == "" {
		r.violate("P7: %s has no order", user)
		return
	}
	p := payment{
		provider: stripe, reference: reference, sale: saleID, order: c.orderID, user: user, amount: price,
	}
	if strings.HasSuffix(reference, "2") {
		p.provider = standardWebhooks
	}
	told, err := p.deliver(func(request httpapi.Request) (reply, bool) {
		got, took, ok := r.start(paying, 0).ask("", request)
		r.inTime(paying, took)
		r.chooser.tell("%s of %s: %t %d %s", reference, user, ok, got.status, got.body)
		return got, ok
	}, time.Sleep)
	if err != nil {
		r.violate("%v", err)
		return
	}
	if before, known := r.paid[p]; known && before != told {
		r.violate("P9: %s was said to be %+v and is said to be %+v", reference, before, told)
	}
	r.paid[p] = told
	if wrong := p.check(r.db, told, readBooks(r.db, saleID).claims[user].end()); wrong != "" {
		r.violate("%s", wrong)
	}
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

// cancels asks for a cancellation until there is an answer.
func (r *run) cancels(user string) {
	for range 10 {
		got, took, ok := r.start(paying, 0).cancel(saleID, user)
		r.inTime(paying, took)
		r.chooser.tell("%s cancels: %t %d %s", user, ok, got.status, got.body)
		if !ok || got.code == "busy" {
			time.Sleep(time.Second)
			continue
		}
		if wrong := checkCancelled(user, got, readBooks(r.db, saleID).claims[user].end()); wrong != "" {
			r.violate("%s", wrong)
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
			waiting = waiting || b.claims[user].end() == ""
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
	for p, told := range r.paid {
		if wrong := p.check(r.db, told, b.claims[p.user].end()); wrong != "" {
			r.violate("%s", wrong)
		}
		r.pays(p.user, p.reference)
	}
	if after := r.db.Dump(); after != before {
		r.violate("P9: reporting payments again changed the table from\n%s to\n%s", before, after)
	}
}
