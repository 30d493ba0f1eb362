package explore

import (
	"fmt"
	"slices"
	"time"

	"flashsale/infra/proof/harness"
)

func units(stock, shards int) saleDraft { return saleDraft{stock: stock, shards: shards} }

// priced is a sale that asks for payment.
func priced(stock, shards int) saleDraft {
	return saleDraft{stock: stock, shards: shards, payWithin: harness.PayWithin}
}

// scenarios are what is run under every plan.
var scenarios = slices.Concat(sellingScenarios, withdrawalScenarios, changeScenarios, groupScenarios, paymentScenarios, recallScenarios, drawScenarios, eventScenarios)

// sellingScenarios are the scenarios of buying, restocking and finishing orders.
var sellingScenarios = []scenario{
	{
		name: "two buyers and one unit", sale: units(1, 1),
		act: func(s *scene) {
			// Bob's whole request may run between any two calls of Alice's.
			s.during(func() { s.buy(s.start(), "bob", "") }, func() { s.buy(s.start(), "alice", "first") })
		},
	},
	{
		name: "one buyer's double click on the last units of two shards", sale: units(2, 2),
		act: func(s *scene) {
			s.during(func() { s.buy(s.start(), "alice", "") }, func() { s.buy(s.start(), "alice", "") })
		},
	},
	{
		name: "a repeat with the same key", sale: units(1, 1),
		act: func(s *scene) {
			e := s.start()
			s.buy(e, "alice", "first")
			// The second time from memory, the third time from the table.
			s.buy(s.alive(e), "alice", "first")
			s.buy(s.start(), "alice", "first")
		},
	},
	{
		name: "a winner without a key who asks again after the end", sale: units(1, 1),
		prepare: func(s *scene) {
			s.buy(s.start(), "alice", "")
			s.buy(s.start(), "bob", "") // closes the shard
		},
		act: func(s *scene) {
			e := s.start()
			s.buy(e, "carol", "")
			s.buy(s.alive(e), "alice", "") // a read that failed for Carol excuses "sold out"
		},
	},
	{
		name: "a restock under faults", sale: units(1, 1),
		prepare: func(s *scene) { s.buy(s.start(), "alice", "") },
		act: func(s *scene) {
			s.restock()
			s.withoutFaults(func() { s.buy(s.start(), "bob", "") })
		},
	},
	{
		name: "a restock while a shard is being closed", sale: units(1, 1),
		prepare: func(s *scene) { s.buy(s.start(), "alice", "") },
		act: func(s *scene) {
			e := s.start()
			s.during(func() { s.withoutFaults(s.restock) }, func() { s.buy(e, "bob", "") })
			time.Sleep(harness.RefusalAge) // now no environment may refuse because of older data
			s.buy(s.alive(e), "bob", "second")
		},
	},
	{
		// Alice takes the unit of shard 0. Bob looks there first and may find it
		// empty; then it gets another unit, and Carol takes that of shard 1. So
		// each shard was empty, and the sale never.
		name: "two shards that are never empty together", sale: units(2, 2),
		prepare: func(s *scene) { s.buy(s.start(), "alice", "") },
		act: func(s *scene) {
			s.during(func() {
				s.withoutFaults(func() {
					s.restock()
					s.buy(s.start(), "carol", "")
				})
			}, func() { s.buy(s.start(), "bob", "") })
		},
	},
	{
		name: "an order message that was never sent", sale: units(1, 1),
		prepare: func(s *scene) {
			s.buy(s.start(), "alice", "first")
			s.dropQueue()
			time.Sleep(time.Minute)
		},
		act: func(s *scene) { s.reconcile("{}") },
	},
	{
		// The pass may be cut off before Bob buys, and is resumed when a new pass could
		// drain the sale.
		name: "a pass that began before the last purchase", sale: units(2, 1),
		prepare: func(s *scene) {
			now := time.Now()
			s.change(command{edit: true}, fmt.Sprintf(`{"action":"reschedule","saleId":%q,"opensAt":%q,"closesAt":%q,"at":%q}`, s.id,
				harness.Stamp(now.Add(-time.Minute)), harness.Stamp(now.Add(10*time.Minute)), harness.Stamp(now)))
			s.buyConfirmed("alice")
		},
		act: func(s *scene) {
			s.reconcile("{}")
			s.n.planned.faultsLeft = 0 // later failures can only be caused by this pass
			s.buy(s.start(), "bob", "")
			s.dropQueue()
			time.Sleep(26 * time.Minute)
			s.reconcile("{}")
		},
	},
	{
		name: "poison beside an order message", sale: units(1, 1),
		prepare: func(s *scene) {
			s.simulation.draft.poisons = harness.PoisonMessages
			for _, body := range harness.PoisonMessages {
				s.world.Queue.Put(body, time.Now())
			}
		},
		act: func(s *scene) { s.buy(s.start(), "alice", "first") },
	},
}

// withdrawalScenarios are the scenarios in which units are withdrawn, or may not be added.
var withdrawalScenarios = []scenario{
	{
		name: "a withdrawal under faults", sale: units(2, 1),
		prepare: func(s *scene) { s.buy(s.start(), "alice", "") },
		act: func(s *scene) {
			s.withdraw(9)
			s.withoutFaults(func() { s.buy(s.start(), "bob", "") })
		},
	},
	{
		name: "a withdrawal while the last units are bought", sale: units(2, 1),
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.buy(s.start(), "alice", "") }) }, func() { s.withdraw(2) })
		},
	},
	{
		name: "a purchase while the last units are withdrawn", sale: units(1, 1),
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.withdraw(1) }) }, func() { s.buy(s.start(), "alice", "first") })
		},
	},
	{
		name: "one withdrawal by two operators", sale: units(4, 2),
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.withdraw(3) }) }, func() { s.withdraw(3) })
		},
	},
	{
		// Units that the withdrawal did not find are not taken from later additions.
		name: "a restock during a withdrawal", sale: units(1, 1),
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(s.restock) }, func() { s.withdraw(2) })
		},
	},
	{
		name: "two additions that have room for one", sale: saleDraft{stock: 1, shards: 1, maxStock: 3},
		act: func(s *scene) {
			add := func(seedID string) func() {
				return func() {
					s.change(command{units: 2, mayConflict: true}, fmt.Sprintf(`{"action":"add","saleId":%q,"seedId":%q,"stock":2}`, s.id, seedID))
				}
			}
			s.during(func() { s.withoutFaults(add("one")) }, add("other"))
		},
	},
}

// changeScenarios are the scenarios in which operators change a sale under ids of their own.
var changeScenarios = []scenario{
	{
		name: "one pause by two operators", sale: units(1, 1),
		act: func(s *scene) {
			s.during(func() { s.edit("pause", "one") }, func() { s.edit("pause", "one") })
		},
	},
	{
		// If its answer is lost, the pause is repeated after the resumption, which it must not undo.
		name: "a resumption during a pause", sale: units(1, 1),
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.edit("resume", "two") }) }, func() { s.edit("pause", "one") })
		},
	},
	{
		name: "a pause and an addition under one id", sale: units(1, 1),
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.edit("pause", "one") }) }, func() {
				s.change(command{units: 1, mayConflict: true}, `{"action":"add","saleId":"`+s.id+`","seedId":"one","stock":1}`)
			})
		},
	},
}

// groupScenarios are the scenarios of two sales in which a user has one order.
var groupScenarios = []scenario{
	{
		name: "one buyer clicks in two sales of a group", sale: units(1, 1), grouped: true,
		act: func(s *scene) {
			s.during(func() { s.buyOf(s.sales[1], s.start(), "alice", "") }, func() { s.buy(s.start(), "alice", "") })
		},
	},
	{
		name: "one buyer clicks twice in a sale and once in another of the group", sale: units(2, 2), grouped: true,
		act: func(s *scene) {
			s.during(func() {
				s.withoutFaults(func() {
					s.buy(s.start(), "alice", "")
					s.buyOf(s.sales[1], s.start(), "alice", "")
				})
			}, func() { s.buy(s.start(), "alice", "first") })
		},
	},
	{
		name: "an order in a sold-out sale of a group", sale: units(1, 1), grouped: true,
		act: func(s *scene) {
			e := s.start()
			s.during(func() { s.withoutFaults(func() { s.buy(s.start(), "bob", "") }) }, func() { s.buyOf(s.sales[1], e, "alice", "") })
			s.buy(s.alive(e), "alice", "")
		},
	},
}

// paymentScenarios are the scenarios in which orders are paid, released or cancelled.
var paymentScenarios = []scenario{
	{
		name: "a payment while its claim is released", sale: priced(1, 1),
		prepare: func(s *scene) { s.buyOverdue("alice") },
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.pay("alice", "pi_1") }) }, func() { s.release("release") })
		},
	},
	{
		name: "a release while its claim is paid", sale: priced(1, 1),
		prepare: func(s *scene) { s.buyOverdue("alice") },
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.release("release") }) }, func() { s.pay("alice", "pi_1") })
		},
	},
	{
		name: "a payment while its claim is cancelled", sale: priced(1, 1),
		prepare: func(s *scene) { s.buyConfirmed("alice") },
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.pay("alice", "pi_1") }) }, func() { s.cancel("alice", "alice cancels") })
		},
	},
	{
		name: "a cancellation while its claim is released", sale: priced(1, 1),
		prepare: func(s *scene) { s.buyOverdue("alice") },
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.cancel("alice", "alice cancels") }) }, func() { s.release("release") })
		},
	},
	{
		name: "two passes at once", sale: priced(2, 1),
		prepare: func(s *scene) { s.buyOverdue("alice", "bob") },
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.release("other release") }) }, func() { s.release("release") })
		},
	},
	{
		name: "two payments of one order, one of them reported twice", sale: priced(1, 1),
		prepare: func(s *scene) { s.buyConfirmed("alice") },
		act: func(s *scene) {
			s.during(func() {
				s.withoutFaults(func() {
					s.pay("alice", "pi_1")
					s.pay("alice", "pi_2")
				})
			}, func() { s.pay("alice", "pi_1") })
		},
	},
	{
		name: "one payment, reported of two orders", sale: priced(2, 1),
		prepare: func(s *scene) { s.buyConfirmed("alice", "bob") },
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.pay("bob", "pi_1") }) }, func() { s.pay("alice", "pi_1") })
		},
	},
	{
		name: "a unit that comes back while its shard is being closed", sale: priced(1, 1),
		prepare: func(s *scene) { s.buyOverdue("alice") },
		act: func(s *scene) {
			e := s.start()
			s.during(func() { s.withoutFaults(func() { s.release("release") }) }, func() { s.buy(e, "bob", "") })
			time.Sleep(harness.RefusalAge) // now no environment may refuse because of older data
			s.buy(s.alive(e), "bob", "")
		},
	},
	{
		name: "a unit that comes back during a restock", sale: priced(1, 1),
		prepare: func(s *scene) { s.buyOverdue("alice") },
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(s.restock) }, func() { s.release("release") })
		},
	},
}

// recallScenarios are the scenarios in which a sale is recalled.
var recallScenarios = []scenario{
	{
		name: "a recall, an order without an id, and a payment", sale: priced(2, 1),
		prepare: func(s *scene) {
			s.buyConfirmed("alice")
			s.buy(s.start(), "bob", "")
		},
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.pay("alice", "pi_1") }) }, s.recallAndRelease)
		},
	},
	{
		name: "a recall of a sale that asks for no payment, an order that was paid, and a purchase", sale: units(3, 1),
		prepare: func(s *scene) {
			s.buyConfirmed("alice", "bob")
			s.pay("alice", "pi_1")
		},
		act: func(s *scene) {
			remembers := s.start()
			s.withoutFaults(func() { s.buy(remembers, "bob", "") })
			s.during(func() { s.withoutFaults(func() { s.buy(remembers, "carol", "") }) }, s.recallAndRelease)
		},
	},
	{
		name: "a resumption while the sale is recalled", sale: priced(2, 1),
		prepare: func(s *scene) {
			s.buyConfirmed("alice")
			s.edit("pause", "one")
		},
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.edit("resume", "two") }) }, s.recallAndRelease)
		},
	},
	{
		name: "a recall of several orders that were paid", sale: priced(3, 1), mostFaults: 1,
		prepare: func(s *scene) {
			s.buyConfirmed("alice", "bob", "carol")
			for i, user := range []string{"alice", "bob", "carol"} {
				s.pay(user, fmt.Sprint("pi_", i+1))
			}
		},
		act: func(s *scene) { s.recallAndRelease() },
	},
	{
		name: "two passes of a recall at once", sale: priced(2, 1),
		prepare: func(s *scene) {
			s.buyConfirmed("alice", "bob")
			s.pay("alice", "pi_1")
			s.recall()
		},
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.release("other release") }) }, func() { s.release("release") })
		},
	},
}

func (s *scene) recallAndRelease() {
	s.recall()
	s.release("release")
}

// entrants are those who enter the draws.
var entrants = []string{harness.PageUser, "bob", "carol", "dave"}

const (
	// enteringLasts is how long people may enter, and beginsAfter after how much more the sale
	// begins.
	enteringLasts = 10 * time.Minute
	beginsAfter   = 10 * time.Minute
)

// drawn is a sale with a draw.
func drawn(stock, shards int) saleDraft {
	d := saleDraft{stock: stock, shards: shards, opensAt: enteringLasts + beginsAfter, closesAt: 24 * time.Hour, draw: &drawDraft{enterUntil: enteringLasts, callsAfter: 1}}
	for _, user := range entrants {
		d.draw.entrants = append(d.draw.entrants, entrant{user: user})
	}
	return d
}

// drawScenarios are the scenarios of a sale with a draw, from entering to the second call.
var drawScenarios = []scenario{
	{
		name: "people enter a draw", sale: drawn(1, 1),
		prepare: func(s *scene) { s.enter("bob") },
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.enter(harness.PageUser) }) }, func() { s.enter(harness.PageUser) })
			s.enter("bob")
		},
	},
	{
		name: "a roll is closed", sale: drawn(1, 1), mostFaults: 1,
		prepare: func(s *scene) {
			s.enterAll()
			s.until(enteringLasts + harness.DrawTimes.Settle)
		},
		act: func(s *scene) { s.lead("draw") },
	},
	{
		name: "the first call by two runs at once", sale: drawn(2, 2), mostFaults: 1,
		prepare: func(s *scene) {
			s.enterAll()
			s.leadTo(0)
		},
		act: func(s *scene) {
			s.during(func() { s.withoutFaults(func() { s.lead("other draw") }) }, func() { s.lead("draw") })
		},
	},
	{
		name: "whoever is called buys, and nobody else", sale: drawn(2, 2), mostFaults: 1,
		prepare: func(s *scene) {
			s.enterAll()
			s.leadTo(1)
		},
		act: func(s *scene) {
			e := s.start()
			for _, user := range entrants {
				e = s.alive(e)
				s.buy(e, user, "key-"+user)
			}
		},
	},
	{
		// Between any two calls of the draw function the purchase of somebody of the first call is
		// applied, which had no answer then.
		name: "the second call, and a purchase of the first one that is applied late", sale: drawn(2, 2), mostFaults: 1,
		prepare: func(s *scene) {
			s.enterAll()
			s.leadTo(1)
			s.n.planned.holdsBack = true
			for _, user := range entrants {
				if s.watch.draw.callOf[user] == 1 {
					s.buy(s.start(), user, "")
					break
				}
			}
			s.n.planned.holdsBack = false
			time.Sleep(keepFor + harness.DrawTimes.Gap)
		},
		act: func(s *scene) {
			s.during(s.applyLateWrites, func() { s.lead("draw") })
			time.Sleep(time.Minute)
			s.withoutFaults(func() { s.lead("next draw") }) // it completes the call if this one was cut off
		},
	},
}

func (s *scene) enterAll() {
	for _, user := range entrants {
		s.enter(user)
	}
}

// until waits until that long after the creation.
func (s *scene) until(after time.Duration) { time.Sleep(time.Until(s.began.Add(after))) }

// leadTo leads the draw to the instant at which the first call is due, or to its call of that
// number, which has begun then.
func (s *scene) leadTo(number int) {
	s.until(enteringLasts + harness.DrawTimes.Settle)
	for time.Since(s.began) < enteringLasts+beginsAfter-time.Minute {
		s.lead("draw")
		time.Sleep(time.Minute)
	}
	s.until(enteringLasts + beginsAfter)
	for range 5 {
		if len(s.watch.draw.calls) >= number {
			break
		}
		s.lead("draw")
		time.Sleep(time.Minute)
	}
}

// eventScenarios are the scenarios in which changes of the table are published.
var eventScenarios = []scenario{{
	name: "orders that are confirmed, paid and cancelled, a refund and the end of the stock, and poison among them", sale: priced(3, 1),
	prepare: func(s *scene) {
		s.simulation.stream = newPlannedStream(s.simulation)
		s.buyConfirmed("alice", "bob", "carol")
		s.buy(s.start(), "dave", "") // closes the shard
		s.stream.takePoison(3)
		s.pay("bob", "pi_1")
		s.pay("bob", "pi_2")
		s.cancel("carol", "carol cancels")
	},
	act: func(s *scene) {
		for try := 0; try < 6 && !s.stream.isEmpty(); try++ {
			s.publish()
		}
	},
}}
