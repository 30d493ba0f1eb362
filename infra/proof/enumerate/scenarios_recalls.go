package enumerate

import (
	"fmt"
	"time"

	"flashsale/infra/proof/harness"
)

// recallScenarios are the scenarios in which a sale is recalled. The recall is sent once: if it is
// cut off after it is in the table, the passes must go on with it.
var recallScenarios = []scenario{
	{
		name: "a recall, an order without an id, and a payment", stock: 2, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) {
			r.buyConfirmed("alice")
			r.buy(r.Start(harness.Purchasing, 0), "bob", "")
		},
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.pay("alice", "pi_1") }) }, func() { r.recall(); r.release() })
		},
		check: func(r *run) { r.checkRecall(2, 1) },
	},
	{
		name: "a recall of a sale that asks for no payment, an order that was paid, and a purchase", stock: 3, shards: 1,
		prepare: func(r *run) {
			r.buyConfirmed("alice", "bob")
			r.pay("alice", "pi_1")
		},
		act: func(r *run) {
			remembers := r.Start(harness.Purchasing, 0)
			r.withoutFaults(func() { r.buy(remembers, "bob", "") })
			r.during(func() { r.withoutFaults(func() { r.buy(remembers, "carol", "") }) }, func() { r.recall(); r.release() })
		},
		check: func(r *run) { r.checkRecall(2, 1) },
	},
	{
		name: "a resumption while the sale is recalled", stock: 2, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) {
			r.buyConfirmed("alice")
			r.mustSeed(`{"action":"pause","saleId":"` + harness.SaleID + `"}`)
		},
		act: func(r *run) {
			r.during(func() {
				r.withoutFaults(func() { r.seed(`{"action":"resume","saleId":"` + harness.SaleID + `"}`) })
			}, func() { r.recall(); r.release() })
		},
		check: func(r *run) { r.checkRecall(1, 0) },
	},
	{
		name: "a recall of several orders that were paid", stock: 3, shards: 1, payWithin: harness.PayWithin, mostFaults: 1,
		prepare: func(r *run) {
			r.buyConfirmed("alice", "bob", "carol")
			for i, user := range []string{"alice", "bob", "carol"} {
				r.pay(user, fmt.Sprint("pi_", i+1))
			}
		},
		act:   func(r *run) { r.recall(); r.release() },
		check: func(r *run) { r.checkRecall(3, 3) },
	},
	{
		name: "two passes of a recall at once", stock: 2, shards: 1, payWithin: harness.PayWithin,
		prepare: func(r *run) {
			r.buyConfirmed("alice", "bob")
			r.pay("alice", "pi_1")
			r.recall()
		},
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.release() }) }, func() { r.release() })
		},
		check: func(r *run) { r.checkRecall(2, 1) },
	},
}

// recall asks for the recall once.
func (r *run) recall() {
	var out seedAnswer
	took, err := r.Start(harness.Seeding, 0).Command(`{"action":"recall","saleId":"`+harness.SaleID+`","note":"defective"}`, &out)
	r.chooser.logf("recall: %v %+v", err, out)
	r.checkDuration(harness.Seeding, took)
}

// finishRecall makes passes of a recall that is in the table until it is complete.
func (r *run) finishRecall() {
	for minute := 0; harness.ReadBooks(r.DB, harness.SaleID).Recalling; minute++ {
		if minute == 5 {
			r.violate("P35: after %d minutes the recall is not complete", minute)
			return
		}
		time.Sleep(time.Minute)
		r.release()
	}
}

// checkRecall repeats a recall that is not in the table, makes passes until it is complete, and
// checks that every order is released, or paid and its payment goes back (P35): of at least so
// many claims, of which so many are paid at most.
func (r *run) checkRecall(claims, paid int) {
	if !harness.ReadBooks(r.DB, harness.SaleID).Recalled {
		r.mustSeed(`{"action":"recall","saleId":"` + harness.SaleID + `"}`)
	}
	r.finishRecall()
	b := harness.ReadBooks(r.DB, harness.SaleID)
	r.violations = append(r.violations, b.Audit()...)
	r.violations = append(r.violations, b.CheckRecall()...)
	if n := len(b.Claims); n < claims {
		r.violate("P4: %d claims are left of %d", n, claims)
	}
	if len(r.paid) != paid {
		r.violate("P24: %d payments are recorded, want %d", len(r.paid), paid)
	}
	for p, told := range r.paid {
		if wrong := p.Check(r.DB, told, b.Claim(p.User).End()); wrong != "" {
			r.violate("%s", wrong)
		}
	}
	if got, _, _ := r.Start(harness.Purchasing, 0).Buy(harness.SaleID, "zoe", ""); got.Code != "recalled" {
		r.violate("P35: after the recall a buyer is told %d %s", got.Status, got.Code)
	}
}
