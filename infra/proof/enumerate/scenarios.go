package enumerate

import (
	"fmt"
	"time"

	"flashsale/infra/proof/harness"
)

// sellingScenarios are the scenarios of buying, restocking and finishing orders.
var sellingScenarios = []scenario{
	{
		name: "two buyers and one unit", stock: 1, shards: 1,
		act: func(r *run) {
			// Bob's whole request may run between any two calls of Alice's.
			alice, bob := r.Start(harness.Purchasing, 0), r.Start(harness.Purchasing, 0)
			r.during(func() { r.buy(bob, "bob", "") }, func() { r.buy(alice, "alice", "first") })
		},
		check: func(r *run) { r.checkSold(1) },
	},
	{
		name: "one buyer's double click on the last units of two shards", stock: 2, shards: 2,
		act: func(r *run) {
			one, other := r.Start(harness.Purchasing, 0), r.Start(harness.Purchasing, 0)
			r.during(func() { r.buy(other, "alice", "") }, func() { r.buy(one, "alice", "") })
		},
		check: func(r *run) { r.checkSold(1) },
	},
	{
		name: "a repeat with the same key", stock: 1, shards: 1,
		act: func(r *run) {
			e := r.Start(harness.Purchasing, 0)
			r.buy(e, "alice", "first")
			// The second time from memory, the third time from the table.
			r.buy(r.alive(e), "alice", "first")
			r.buy(r.Start(harness.Purchasing, 0), "alice", "first")
		},
		check: func(r *run) {
			r.checkSold(1)
			for _, a := range r.answers {
				if a.ok && a.reply.Status != 202 && a.reply.Code != "busy" {
					r.violate("P9: the repeat was told %d %s", a.reply.Status, a.reply.Code)
				}
			}
		},
	},
	{
		name: "a winner without a key who asks again after the end", stock: 1, shards: 1,
		prepare: func(r *run) {
			r.buy(r.Start(harness.Purchasing, 0), "alice", "")
			r.buy(r.Start(harness.Purchasing, 0), "bob", "") // closes the shard
		},
		act: func(r *run) {
			e := r.Start(harness.Purchasing, 0)
			r.buy(e, "carol", "")
			r.buy(r.alive(e), "alice", "") // a read that failed for Carol excuses "sold out"
		},
		check: func(r *run) { r.checkSold(1) },
	},
	{
		name: "a restock under faults", stock: 1, shards: 1,
		prepare: func(r *run) { r.buy(r.Start(harness.Purchasing, 0), "alice", "") },
		act: func(r *run) {
			r.restock()
			r.withoutFaults(func() { r.buy(r.Start(harness.Purchasing, 0), "bob", "") })
		},
		check: func(r *run) {
			r.checkSold(2)
			if r.mustSeed(restockEvent) {
				r.violate("P15: the addition was applied twice")
			}
		},
	},
	{
		name: "a restock while a shard is being closed", stock: 1, shards: 1,
		prepare: func(r *run) { r.buy(r.Start(harness.Purchasing, 0), "alice", "") },
		act: func(r *run) {
			e := r.Start(harness.Purchasing, 0)
			r.during(func() { r.withoutFaults(r.restock) }, func() { r.buy(e, "bob", "") })
			time.Sleep(harness.RefusalAge) // now no environment may refuse because of older data
			r.buy(r.alive(e), "bob", "second")
		},
		check: func(r *run) { r.checkSold(2) },
	},
	{
		// Alice takes the unit of shard 0. Bob looks there first and may find it
		// empty; then it gets another unit, and Carol takes that of shard 1. So
		// each shard was empty, and the sale never.
		name: "two shards that are never empty together", stock: 2, shards: 2,
		prepare: func(r *run) { r.buy(r.Start(harness.Purchasing, 0), "alice", "") },
		act: func(r *run) {
			bob, carol := r.Start(harness.Purchasing, 0), r.Start(harness.Purchasing, 0)
			r.during(func() {
				r.withoutFaults(func() {
					r.restock()
					r.buy(carol, "carol", "")
				})
			}, func() { r.buy(bob, "bob", "") })
		},
		check: func(r *run) {
			r.checkSold(3)
			for _, a := range r.answers {
				if a.reply.Code == "sold-out" {
					r.violate("P6: %s was told sold-out", a.user)
				}
			}
		},
	},
	{
		name: "an order message that was never sent", stock: 1, shards: 1,
		prepare: func(r *run) {
			r.buy(r.Start(harness.Purchasing, 0), "alice", "first")
			r.dropQueue()
			time.Sleep(time.Minute)
		},
		act:   func(r *run) { r.reconcile() },
		check: func(r *run) { r.checkSold(1) },
	},
	{
		// The pass may be cut off before Bob buys, and is resumed when a new pass could
		// drain the sale.
		name: "a pass that began before the last purchase", stock: 2, shards: 1,
		prepare: func(r *run) {
			r.mustSeed(fmt.Sprintf(`{"action":"reschedule","saleId":%q,"opensAt":%q,"closesAt":%q,"at":%q}`, harness.SaleID,
				harness.Stamp(time.Now().Add(-time.Minute)), harness.Stamp(time.Now().Add(10*time.Minute)), harness.Stamp(time.Now())))
			r.buy(r.Start(harness.Purchasing, 0), "alice", "")
			r.deliverAll(r.Start(harness.Finalizing, 0))
		},
		act: func(r *run) {
			r.reconcile()
			r.chooser.faultsLeft = 0 // later failures can only be caused by this pass
			r.buy(r.Start(harness.Purchasing, 0), "bob", "")
			r.dropQueue()
			time.Sleep(26 * time.Minute)
			r.reconcile()
		},
		check: func(r *run) { r.checkSold(2) },
	},
	{
		name: "poison beside an order message", stock: 1, shards: 1,
		prepare: func(r *run) {
			for _, body := range harness.PoisonMessages {
				r.Queue.Put(body, time.Now())
			}
		},
		act: func(r *run) { r.buy(r.Start(harness.Purchasing, 0), "alice", "first") },
		check: func(r *run) {
			r.checkSold(1)
			for _, body := range harness.PoisonMessages {
				if !r.Queue.DeadLetters()[body] {
					r.violate("P10: %q is not in the dead-letter queue", body)
				}
			}
		},
	},
}

// during runs act, and other at any one instant during it, or after it.
func (r *run) during(other, act func()) {
	r.chooser.meanwhile = other
	act()
	if r.chooser.meanwhile != nil {
		r.chooser.meanwhile = nil
		other()
	}
}

// alive returns an environment for purchases: a cold one if this one has died.
func (r *run) alive(e *harness.Environment) *harness.Environment {
	if e.Dead.Load() {
		return r.Start(harness.Purchasing, 0)
	}
	return e
}

// withoutFaults runs act without faults, because another scenario covers them.
func (r *run) withoutFaults(act func()) {
	r.chooser.setActive(false)
	act()
	r.chooser.setActive(true)
}

const restockEvent = `{"action":"add","saleId":"` + harness.SaleID + `","seedId":"second-batch","stock":1}`

// restock adds a unit, despite all faults.
func (r *run) restock() {
	before := harness.ReadBooks(r.DB, harness.SaleID).Seeded
	r.mustSeed(restockEvent)
	if after := harness.ReadBooks(r.DB, harness.SaleID).Seeded; after != before+1 {
		r.violate("P15: %d units before and %d after the addition of one", before, after)
	}
	r.restocked = time.Now()
}

// checkSold expects that many claims, all with an order, and no stock left.
func (r *run) checkSold(claims int) {
	b := harness.ReadBooks(r.DB, harness.SaleID)
	if len(b.Claims) != claims || len(b.Orders) != claims {
		r.violate("%d claims and %d orders, want %d", len(b.Claims), len(b.Orders), claims)
	}
	for user, id := range r.claimOf {
		if held := b.Claim(user).ClaimID; held != id {
			r.violate("P4: %s was told of claim %s and holds %q", user, id, held)
		}
	}
}
