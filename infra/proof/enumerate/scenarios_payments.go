package enumerate

import (
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/proof/harness"
	"flashsale/shared/httpapi"
)

// paymentScenarios are the scenarios in which orders are paid, released or cancelled.
var paymentScenarios = []scenario{
	{
		name: "a payment while its claim is released", stock: 1, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) { r.buyOverdue("alice") },
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.pay("alice", "pi_1") }) }, func() { r.release() })
		},
		check: func(r *run) { r.checkPayments(1, "alice") },
	},
	{
		name: "a release while its claim is paid", stock: 1, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) { r.buyOverdue("alice") },
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.release() }) }, func() { r.pay("alice", "pi_1") })
		},
		check: func(r *run) { r.checkPayments(1, "alice") },
	},
	{
		name: "a payment while its claim is cancelled", stock: 1, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) { r.buyConfirmed("alice") },
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.pay("alice", "pi_1") }) }, func() { r.cancel("alice") })
		},
		check: func(r *run) { r.checkPayments(1, "alice") },
	},
	{
		name: "a cancellation while its claim is released", stock: 1, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) { r.buyOverdue("alice") },
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.cancel("alice") }) }, func() { r.release() })
		},
		check: func(r *run) { r.checkPayments(0, "alice") },
	},
	{
		name: "two passes at once", stock: 2, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) { r.buyOverdue("alice", "bob") },
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.release() }) }, func() { r.release() })
		},
		check: func(r *run) { r.checkPayments(0, "alice", "bob") },
	},
	{
		name: "two payments of one order, one of them reported twice", stock: 1, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) { r.buyConfirmed("alice") },
		act: func(r *run) {
			r.during(func() {
				r.withoutFaults(func() {
					r.pay("alice", "pi_1")
					r.pay("alice", "pi_2")
				})
			}, func() { r.pay("alice", "pi_1") })
		},
		check: func(r *run) { r.checkPayments(2, "alice") },
	},
	{
		name: "one payment, reported of two orders", stock: 2, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) { r.buyConfirmed("alice", "bob") },
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.pay("bob", "pi_1") }) }, func() { r.pay("alice", "pi_1") })
		},
		check: func(r *run) { r.checkPayments(2, "alice", "bob") },
	},
	{
		name: "a unit that comes back while its shard is being closed", stock: 1, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) { r.buyOverdue("alice") },
		act: func(r *run) {
			e := r.Start(harness.Purchasing, 0)
			r.during(func() { r.withoutFaults(func() { r.release() }) }, func() { r.buy(e, "bob", "") })
			time.Sleep(harness.RefusalAge) // now no environment may refuse because of older data
			r.buy(r.alive(e), "bob", "")
		},
		check: func(r *run) {
			r.checkSold(2)
			r.checkPayments(0, "alice")
		},
	},
	{
		name: "a unit that comes back during a restock", stock: 1, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) { r.buyOverdue("alice") },
		act: func(r *run) {
			r.during(func() { r.withoutFaults(r.restock) }, func() { r.release() })
		},
		check: func(r *run) { r.checkPayments(0, "alice") },
	},
}

// buyConfirmed buys for the users and confirms their orders.
func (r *run) buyConfirmed(users ...string) {
	for _, user := range users {
		r.buy(r.Start(harness.Purchasing, 0), user, "")
	}
	r.deliverAll(r.Start(harness.Finalizing, 0))
}

// buyOverdue does the same and waits until the claims may be released unpaid.
func (r *run) buyOverdue(users ...string) {
	r.buyConfirmed(users...)
	time.Sleep(harness.PayWithin + harness.Grace + time.Second)
}

// pay reports a payment until it is recorded, as its provider does. One in two is
// reported by Stripe.
func (r *run) pay(user, reference string) {
	c := harness.ReadBooks(r.DB, harness.SaleID).Claim(user)
	if c.OrderID == "" {
		r.violate("P7: %s has no order", user)
		return
	}
	p := harness.Payment{
		Provider: webhook.Stripe, Reference: reference, Sale: harness.SaleID, Order: c.OrderID, User: user, Amount: harness.Price,
	}
	if strings.HasSuffix(reference, "2") {
		p.Provider = webhook.StandardWebhooks
	}
	told, err := p.Deliver(func(request httpapi.Request) (harness.Reply, bool) {
		got, took, ok := r.Start(harness.Paying, 0).Ask("", request)
		r.checkDuration(harness.Paying, took)
		r.chooser.logf("%s of %s: %t %d %s", reference, user, ok, got.Status, got.Body)
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
	if wrong := p.Check(r.DB, told, harness.ReadBooks(r.DB, harness.SaleID).Claim(user).End()); wrong != "" {
		r.violate("%s", wrong)
	}
}

// release makes a pass, and reports whether it was completed.
func (r *run) release() bool {
	var out harness.Passes
	took, err := r.Start(harness.Releasing, 0).Command("{}", &out)
	r.checkDuration(harness.Releasing, took)
	r.restocked = time.Now()
	r.chooser.logf("release: %v %+v", err, out)
	if out.Fails(err) {
		r.violate("P22: a pass fails with %v", err)
	}
	return err == nil && len(out.Passes) == 1 && out.Passes[0].Complete
}

// cancel asks for a cancellation until there is an answer.
func (r *run) cancel(user string) {
	for range 10 {
		got, took, ok := r.Start(harness.Paying, 0).Cancel(harness.SaleID, user)
		r.checkDuration(harness.Paying, took)
		r.chooser.logf("%s cancels: %t %d %s", user, ok, got.Status, got.Body)
		if !ok || got.Code == "busy" {
			time.Sleep(time.Second)
			continue
		}
		if wrong := harness.CheckCancelled(user, got, harness.ReadBooks(r.DB, harness.SaleID).Claim(user).End()); wrong != "" {
			r.violate("%s", wrong)
		}
		return
	}
	r.violate("P5: %s gets no answer to a cancellation", user)
}

// checkPayments makes passes until nothing is left to release or to put back, and then
// checks that so many payments were recorded, each as its order's payment or a refund
// due, and that the users' claims are final (P20 to P24).
func (r *run) checkPayments(payments int, users ...string) {
	for minute := 0; ; minute++ {
		time.Sleep(time.Minute)
		complete := r.release()
		b := harness.ReadBooks(r.DB, harness.SaleID)
		waiting := false
		for _, s := range b.Shards {
			waiting = waiting || s.Released != s.PutBack
		}
		for _, user := range users {
			waiting = waiting || b.Claim(user).End() == ""
		}
		if complete && !waiting {
			break
		}
		if minute == 5 {
			r.violate("P22: after %d minutes something is left to release or to put back", minute)
			return
		}
	}
	before := r.DB.Dump()
	b := harness.ReadBooks(r.DB, harness.SaleID)
	r.violations = append(r.violations, b.Audit()...)
	if len(r.paid) != payments {
		r.violate("P24: %d payments are recorded, want %d", len(r.paid), payments)
	}
	for p, told := range r.paid {
		if wrong := p.Check(r.DB, told, b.Claim(p.User).End()); wrong != "" {
			r.violate("%s", wrong)
		}
		r.pay(p.User, p.Reference)
	}
	if after := r.DB.Dump(); after != before {
		r.violate("P9: reporting payments again changed the table from\n%s to\n%s", before, after)
	}
}
