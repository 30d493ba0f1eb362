package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/proof/harness"
)

// scenarios are what is run under every plan.
var scenarios = []scenario{
	// Buying, restocking and finishing orders.
	{
		// Bob's whole request may run between any two calls of Alice's.
		name: "two buyers and one unit", sale: units(1, 1),
		act: during(buys("bob", ""), buys("alice", "first")),
	},
	{
		name: "one buyer's double click on the last units of two shards", sale: units(2, 2),
		act: during(buys("alice", ""), buys("alice", "")),
	},
	{
		// The second time from memory, the third time from the table.
		name: "a repeat with the same key", sale: units(1, 1),
		act: do(buysInOne("alice first", "alice first"), buys("alice", "first")),
	},
	{
		// Bob closes the shard. A read that failed for Carol excuses "sold out".
		name: "a winner without a key who asks again after the end", sale: units(1, 1),
		prepare: do(buys("alice", ""), buys("bob", "")),
		act:     buysInOne("carol", "alice"),
	},
	{
		name: "a restock under faults", sale: units(1, 1),
		prepare: buys("alice", ""),
		act:     do(restocks, without(buys("bob", ""))),
	},
	{
		name: "a restock while a shard is being closed", sale: units(1, 1),
		prepare: buys("alice", ""),
		act:     func(s *scene) { s.buyWhile(restocks, "second") },
	},
	{
		// Alice takes the unit of shard 0. Bob looks there first and may find it
		// empty; then it gets another unit, and Carol takes that of shard 1. So
		// each shard was empty, and the sale never.
		name: "two shards that are never empty together", sale: units(2, 2),
		prepare: buys("alice", ""),
		act:     during(without(restocks, buys("carol", "")), buys("bob", "")),
	},
	{
		name: "an order message that was never sent", sale: units(1, 1),
		prepare: do(buys("alice", "first"), (*scene).dropQueue, after(time.Minute)),
		act:     reconciles,
	},
	{
		// The pass may be cut off before Bob buys, and is resumed when a new pass could
		// drain the sale. Later failures can only be caused by this pass.
		name: "a pass that began before the last purchase", sale: units(2, 1),
		prepare: do(closesIn(10*time.Minute), confirmed("alice")),
		act: do(reconciles, func(s *scene) { s.n.planned.faultsLeft = 0 }, buys("bob", ""), (*scene).dropQueue, after(26*time.Minute),
			reconciles),
	},
	{
		name: "poison beside an order message", sale: units(1, 1),
		prepare: (*scene).putPoison,
		act:     buys("alice", "first"),
	},

	// Units are withdrawn, or may not be added.
	{
		name: "a withdrawal under faults", sale: units(2, 1),
		prepare: buys("alice", ""),
		act:     do(withdraws(9), without(buys("bob", ""))),
	},
	{
		name: "a withdrawal while the last units are bought", sale: units(2, 1),
		act: during(without(buys("alice", "")), withdraws(2)),
	},
	{
		name: "a purchase while the last units are withdrawn", sale: units(1, 1),
		act: during(without(withdraws(1)), buys("alice", "first")),
	},
	{
		name: "two additions that have room for one", sale: saleDraft{stock: 1, shards: 1, maxStock: 3},
		act: during(without(adds("one", 2)), adds("other", 2)),
	},

	// Orders have several units.
	{
		name: "an order of the last units of two shards, while one of them is bought", sale: several(3, 2),
		prepare: asks("carol", "", 1),
		act:     during(without(buys("bob", "")), asks("alice", "first", 2)),
	},
	{
		name: "whoever hears that one is left asks for one with the same key", sale: several(3, 3), mostFaults: 2,
		prepare: asks("carol", "", 2),
		act:     do(asks("alice", "first", 2), asks("alice", "first", 1)),
	},
	{
		// Each shard had enough at some time, or the sale always.
		name: "units are added while the shards of an order are read", sale: several(2, 2), mostFaults: 2,
		prepare: buys("carol", ""),
		act:     during(without(restocks, buys("bob", "")), asks("alice", "", 2)),
	},
	{
		name: "a pause while several shards sell an order", sale: several(2, 2), mostFaults: 1,
		act: during(without(edits("pause", "one")), asks("alice", "first", 2)),
	},
	{
		name: "an order of two shards is cancelled, paid and released", mostFaults: 1,
		sale:    saleDraft{stock: 4, shards: 2, maxPerOrder: 3, payWithin: harness.PayWithin},
		prepare: do(asks("alice", "", 3), confirmed("bob")),
		act:     during(without(pays("alice", "pi_1"), operatorCancels("alice", "PAID", "back")), do(after(harness.PayWithin+harness.Grace+time.Second), releases)),
	},

	// Operators change a sale under ids of their own.
	{
		name: "one pause by two operators", sale: units(1, 1),
		act: during(edits("pause", "one"), edits("pause", "one")),
	},
	{
		// If its answer is lost, the pause is repeated after the resumption, which it must not undo.
		name: "a resumption during a pause", sale: units(1, 1),
		act: during(without(edits("resume", "two")), edits("pause", "one")),
	},

	// Two sales in which a user has one order.
	{
		name: "one buyer clicks in two sales of a group", sale: units(1, 1), grouped: true,
		act: during(buysInOther("alice"), buys("alice", "")),
	},
	{
		name: "an order in a sold-out sale of a group", sale: units(1, 1), grouped: true,
		act: func(s *scene) {
			e := s.start()
			during(without(buys("bob", "")), func(s *scene) { s.buy(s.sales[1], e, "alice", "") })(s)
			s.buy(s.runningSale, s.alive(e), "alice", "")
		},
	},

	// Orders are paid, released or cancelled.
	{
		name: "a payment while its claim is released", sale: priced(1, 1),
		prepare: overdue("alice"),
		act:     during(without(pays("alice", "pi_1")), releases),
	},
	{
		name: "a release while its claim is paid", sale: priced(1, 1),
		prepare: overdue("alice"),
		act:     during(without(releases), pays("alice", "pi_1")),
	},
	{
		name: "a payment while its claim is cancelled", sale: priced(1, 1),
		prepare: confirmed("alice"),
		act:     during(without(pays("alice", "pi_1")), cancels("alice")),
	},
	{
		name: "a cancellation while its claim is released", sale: priced(1, 1),
		prepare: overdue("alice"),
		act:     during(without(cancels("alice")), releases),
	},
	{
		name: "two passes at once", sale: priced(2, 1),
		prepare: overdue("alice", "bob"),
		act:     during(without(releases), releases),
	},
	{
		name: "two payments of one order, one of them reported twice", sale: priced(1, 1),
		prepare: confirmed("alice"),
		act:     during(without(pays("alice", "pi_1"), pays("alice", "pi_2")), pays("alice", "pi_1")),
	},
	{
		name: "one payment, reported of two orders", sale: priced(2, 1),
		prepare: confirmed("alice", "bob"),
		act:     during(without(pays("bob", "pi_1")), pays("alice", "pi_1")),
	},
	{
		name: "a payment whose refund is reported meanwhile", sale: priced(1, 1),
		prepare: confirmed("alice"),
		act:     during(without(pays("alice", "pi_1")), goesBack("alice", "pi_1", "re_1", "succeeded")),
	},
	{
		name: "a refund whose failure is reported meanwhile", sale: priced(1, 1),
		prepare: do(confirmed("alice"), pays("alice", "pi_1")),
		act:     during(without(goesBack("alice", "pi_1", "re_1", "succeeded")), goesBack("alice", "pi_1", "re_1", "failed")),
	},
	{
		name: "a refund is reported while an operator cancels its order", sale: priced(1, 1), mostFaults: 2,
		prepare: do(confirmed("alice"), pays("alice", "pi_1")),
		act:     during(without(goesBack("alice", "pi_1", "re_1", "succeeded")), operatorCancels("alice", "PAID", "kept")),
	},
	{
		name: "a unit that comes back while its shard is being closed", sale: priced(1, 1),
		prepare: overdue("alice"),
		act:     func(s *scene) { s.buyWhile(releases, "") },
	},

	// Unpaid orders get more time.
	{
		// The pass may have read the sale before, and its writes may be applied late.
		name: "more time while a pass releases", sale: priced(2, 2),
		prepare: overdue("alice", "bob"),
		act:     during(without(releases), extends("one", 10*time.Minute)),
	},
	{
		name: "a pass while more time is given", sale: priced(2, 2),
		prepare: overdue("alice", "bob"),
		act:     do(during(without(extends("one", 10*time.Minute)), releases), looks("alice"), after(10*time.Minute+harness.Grace), without(releases)),
	},
	{
		name: "more time around a pause, while a pass releases", sale: priced(1, 1), mostFaults: 1,
		prepare: overdue("alice"),
		act:     do(during(without(edits("pause", "p"), extends("one", 10*time.Minute), edits("resume", "r")), releases), looks("alice")),
	},
	{
		name: "two give more time at once", sale: priced(1, 1),
		prepare: overdue("alice"),
		act:     do(during(without(extends("one", 20*time.Minute)), extends("two", 10*time.Minute)), without(releases), looks("alice")),
	},

	// An overdue order stays while units are left.
	{
		name: "a pass over an overdue order while the last units are bought", sale: belated(3, 2),
		prepare: overdue("alice"),
		act:     do(during(without(buys("bob", ""), buys("carol", "")), releases), without(releases)),
	},
	{
		name: "a late payment while its claim may be released", sale: belated(2, 2),
		prepare: do(overdue("alice"), buys("bob", "")),
		act:     during(without(pays("alice", "pi_1")), releases),
	},
	{
		// The unit is put back by the pass that looks at Alice's order.
		name: "an overdue order and a unit that comes back", sale: belated(2, 1), mostFaults: 1,
		prepare: do(overdue("alice", "bob"), cancels("bob"), after(2*time.Minute)),
		act:     releases,
	},
	{
		name: "an overdue order after the end of a sale that is sold out", sale: belated(1, 1), mostFaults: 1,
		prepare: do(closesIn(time.Second), overdue("alice"), after(2*time.Minute)),
		act:     releases,
	},

	// A sale is recalled.
	{
		name: "a recall, an order without an id, and a payment", sale: priced(2, 1),
		prepare: do(confirmed("alice"), buys("bob", "")),
		act:     during(without(pays("alice", "pi_1")), do((*scene).recall, releases)),
	},
	{
		name: "a recall of a sale that asks for no payment, an order that was paid, and a purchase", sale: units(3, 1),
		prepare: do(confirmed("alice", "bob"), pays("alice", "pi_1")),
		act: func(s *scene) {
			e := s.start()
			remembers := func(user string) func(*scene) {
				return func(s *scene) { s.buy(s.runningSale, e, user, "") }
			}
			do(without(remembers("bob")), during(without(remembers("carol")), do((*scene).recall, releases)))(s)
		},
	},
	{
		name: "a recall of several orders that were paid", sale: priced(3, 1), mostFaults: 1,
		prepare: do(confirmed("alice", "bob", "carol"), pays("alice", "pi_1"), pays("bob", "pi_2"), pays("carol", "pi_3")),
		act:     do((*scene).recall, releases),
	},
	{
		name: "two passes of a recall at once", sale: priced(2, 1),
		prepare: do(confirmed("alice", "bob"), pays("alice", "pi_1"), (*scene).recall),
		act:     during(without(releases), releases),
	},

	// An operator cancels an order.
	{
		name: "an order is paid while an operator cancels it", sale: priced(1, 1),
		prepare: confirmed("alice"),
		act:     during(without(operatorCancels("alice", "CONFIRMED", "back")), pays("alice", "pi_1")),
	},
	{
		name: "an operator cancels an order while it is paid", sale: priced(1, 1),
		prepare: confirmed("alice"),
		act:     during(without(pays("alice", "pi_1")), operatorCancels("alice", "CONFIRMED", "back")),
	},
	{
		name: "two operators cancel an order that was paid", sale: priced(1, 1), mostFaults: 2,
		prepare: do(confirmed("alice"), pays("alice", "pi_1")),
		act: during(without(func(s *scene) { s.operatorCancels("alice", "PAID", "kept", "another", "lee") }),
			operatorCancels("alice", "PAID", "back")),
	},
	{
		name: "the payment of an order is reported again while an operator cancels it", sale: priced(1, 1), mostFaults: 2,
		prepare: do(confirmed("alice"), pays("alice", "pi_1")),
		act:     do(during(without(pays("alice", "pi_1")), operatorCancels("alice", "PAID", "kept")), after(harness.RefusalAge), pays("alice", "pi_1")),
	},
	{
		name: "an operator cancels an order while it is released", sale: priced(2, 1),
		prepare: do(overdue("alice"), confirmed("bob"), cancels("bob")),
		act:     during(without(releases), operatorCancels("alice", "CONFIRMED", "back")),
	},
	{
		name: "units are released and put back while an operator cancels an order", sale: priced(2, 1),
		prepare: do(overdue("alice"), confirmed("bob")),
		act:     during(without(operatorCancels("bob", "CONFIRMED", "back")), releases),
	},
	{
		name: "an operator cancels an order while its sale is recalled", sale: priced(2, 1), mostFaults: 2,
		prepare: do(confirmed("alice", "bob"), pays("alice", "pi_1")),
		act:     during(without((*scene).recall, releases, operatorCancels("bob", "CONFIRMED", "kept")), operatorCancels("alice", "PAID", "back")),
	},
	{
		name: "a sale is recalled while an operator cancels an order", sale: priced(2, 1), mostFaults: 2,
		prepare: do(confirmed("alice", "bob"), pays("alice", "pi_1")),
		act:     during(without(operatorCancels("alice", "PAID", "back"), operatorCancels("bob", "CONFIRMED", "back")), do((*scene).recall, releases)),
	},
	{
		name: "an operator gives back a unit while its shard is being closed", sale: units(1, 1),
		prepare: confirmed("alice"),
		act:     func(s *scene) { s.buyWhile(operatorCancels("alice", "CONFIRMED", "back"), "") },
	},
	{
		name: "an operator cancels an order while the sale is drained", sale: units(2, 1), mostFaults: 2,
		prepare: do(closesIn(10*time.Minute), confirmed("alice"), after(26*time.Minute)),
		act:     during(without(reconciles), operatorCancels("alice", "CONFIRMED", "back")),
	},
	{
		name: "a sale is drained while an operator cancels an order", sale: units(2, 1), mostFaults: 2,
		prepare: do(closesIn(10*time.Minute), confirmed("alice"), after(26*time.Minute)),
		act:     during(without(operatorCancels("alice", "CONFIRMED", "kept")), do(reconciles, reconciles)),
	},

	// A sale has a draw, from entering to the second call.
	{
		name: "people enter a draw", sale: drawn(1, 1),
		prepare: enters("bob"),
		act:     do(during(without(enters(harness.PageUser)), enters(harness.PageUser)), enters("bob")),
	},
	{
		name: "a roll is closed", sale: drawn(1, 1), mostFaults: 1,
		prepare: do(enters(entrants...), until(enteringLasts+harness.DrawTimes.Settle)),
		act:     leads,
	},
	{
		name: "the first call by two runs at once", sale: drawn(2, 2), mostFaults: 1,
		prepare: do(enters(entrants...), leadsTo(0)),
		act:     during(without(leads), leads),
	},
	{
		name: "whoever is called buys, and nobody else", sale: drawn(2, 2), mostFaults: 1,
		prepare: do(enters(entrants...), leadsTo(1)),
		act:     buysInOne("alice key-alice", "bob key-bob", "carol key-carol", "dave key-dave"),
	},
	{
		// Between any two calls of the draw function the purchase of somebody of the first call is
		// applied, which had no answer then. The next run completes the call if this one was cut off.
		name: "the second call, and a purchase of the first one that is applied late", sale: drawn(2, 2), mostFaults: 1,
		prepare: do(enters(entrants...), leadsTo(1), (*scene).buyLate, after(keepFor+harness.DrawTimes.Gap)),
		act:     do(during(func(s *scene) { s.applyLateWrites() }, leads), after(time.Minute), without(leads)),
	},

	// Changes of the table are published.
	{
		name: "orders that are confirmed, paid and cancelled, a refund and the end of the stock", sale: priced(3, 1),
		prepare: do(func(s *scene) { s.setStream(newStream(s.simulation, streamDraft{lanes: 1, batch: 100}, 1)) }, confirmed("alice", "bob", "carol"),
			buys("dave", ""), pays("bob", "pi_1"), pays("bob", "pi_2"), cancels("carol")),
		act: func(s *scene) {
			for try := 0; try < 6 && !s.stream.isEmpty(); try++ {
				l := s.stream.lanes[0]
				l.deliver(l.newest(l.draft.batch))
				time.Sleep(time.Second)
			}
		},
	},
}

func units(stock, shards int) saleDraft { return saleDraft{stock: stock, shards: shards} }

// several is a sale of up to three units an order.
func several(stock, shards int) saleDraft {
	return saleDraft{stock: stock, shards: shards, maxPerOrder: 3}
}

// priced is a sale that asks for payment.
func priced(stock, shards int) saleDraft {
	return saleDraft{stock: stock, shards: shards, payWithin: harness.PayWithin}
}

// belated is the same, with a late day.
func belated(stock, shards int) saleDraft {
	d := priced(stock, shards)
	d.late = true
	return d
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

// do is one step after the other.
func do(steps ...func(*scene)) func(*scene) {
	return func(s *scene) {
		for _, step := range steps {
			step(s)
		}
	}
}

// without is steps without faults, because another scenario covers them.
func without(steps ...func(*scene)) func(*scene) {
	return func(s *scene) {
		s.setActive(false)
		do(steps...)(s)
		s.setActive(true)
	}
}

// during is act, and other at any one instant during it, or after it.
func during(other, act func(*scene)) func(*scene) {
	return func(s *scene) {
		s.n.planned.meanwhile = func() { other(s) }
		act(s)
		if s.n.planned.meanwhile != nil {
			s.n.planned.meanwhile = nil
			other(s)
		}
	}
}

func after(d time.Duration) func(*scene) { return func(*scene) { time.Sleep(d) } }

// until waits until that long after the creation.
func until(d time.Duration) func(*scene) {
	return func(s *scene) { time.Sleep(time.Until(s.began.Add(d))) }
}

func buys(user, key string) func(*scene) {
	return func(s *scene) { s.buy(s.runningSale, s.start(), user, key) }
}

// buysInOne is purchases, each of a user and perhaps a key, in one environment as long as it lives.
func buysInOne(purchases ...string) func(*scene) {
	return func(s *scene) {
		e := s.start()
		for _, one := range purchases {
			user, key, _ := strings.Cut(one, " ")
			e = s.alive(e)
			s.buy(s.runningSale, e, user, key)
		}
	}
}

// asks is a purchase of so many units.
func asks(user, key string, units int64) func(*scene) {
	return func(s *scene) { s.buyUnits(s.runningSale, s.start(), user, key, units) }
}

func buysInOther(user string) func(*scene) {
	return func(s *scene) { s.buy(s.sales[1], s.start(), user, "") }
}

// confirmed is purchases whose orders are confirmed.
func confirmed(users ...string) func(*scene) {
	return func(s *scene) {
		for _, user := range users {
			buys(user, "")(s)
		}
		s.deliverAll()
	}
}

// overdue is the same, of claims that may then be released unpaid.
func overdue(users ...string) func(*scene) {
	return do(confirmed(users...), after(harness.PayWithin+harness.Grace+time.Second))
}

// pays is a payment of Stripe, or if its reference ends in 2 of the other provider.
func pays(user, reference string) func(*scene) {
	return func(s *scene) {
		s.reportPayment(s.paymentOf(user, reference), user+" pays "+reference)
	}
}

func (s *scene) paymentOf(user, reference string) harness.Payment {
	p := harness.Payment{
		Provider: webhook.Stripe, Reference: reference, Sale: s.id, Order: s.watch.claims[user].orderID, User: user, Amount: int(s.watch.claims[user].units) * harness.Price,
	}
	if strings.HasSuffix(reference, "2") {
		p.Provider = webhook.StandardWebhooks
	}
	return p
}

// goesBack is what the payment's provider says of a refund of the whole: succeeded or failed.
func goesBack(user, reference, refund, state string) func(*scene) {
	return func(s *scene) {
		r := harness.RefundReport{Payment: s.paymentOf(user, reference), ID: refund, State: state, Amount: harness.Price}
		s.reportRefund(r, reference+" "+refund+" "+state)
	}
}

func cancels(user string) func(*scene) {
	return func(s *scene) { s.cancel(user, user+" cancels") }
}

// operatorCancels is the cancellation of a user's order by an operator, who has seen it like that.
func operatorCancels(user, saw, unit string) func(*scene) {
	return func(s *scene) { s.operatorCancels(user, saw, unit, "cancels-"+user, "ana") }
}

func adds(seedID string, units int) func(*scene) {
	return func(s *scene) {
		s.change(command{units: units, mayConflict: true}, fmt.Sprintf(`{"action":"add","saleId":%q,"seedId":%q,"stock":%d}`, s.id, seedID, units))
	}
}

func withdraws(units int) func(*scene) {
	return func(s *scene) {
		s.change(command{withdraws: true}, fmt.Sprintf(`{"action":"withdraw","saleId":%q,"seedId":"rest","stock":%d}`, s.id, units))
	}
}

func edits(action, id string) func(*scene) {
	return func(s *scene) {
		s.change(command{edit: true, mayConflict: true}, fmt.Sprintf(`{"action":%q,"saleId":%q,"changeId":%q}`, action, s.id, id))
	}
}

// extends gives unpaid orders time for that long from now.
func extends(id string, longer time.Duration) func(*scene) {
	return func(s *scene) {
		s.change(command{edit: true, extends: true, mayConflict: true}, fmt.Sprintf(`{"action":"extend","saleId":%q,"changeId":%q,"until":%q}`, s.id, id, harness.Stamp(time.Now().Add(longer))))
	}
}

func looks(user string) func(*scene) {
	return func(s *scene) { s.queryOrder(user) }
}

func closesIn(d time.Duration) func(*scene) {
	return func(s *scene) {
		now := time.Now()
		s.change(command{edit: true}, fmt.Sprintf(`{"action":"reschedule","saleId":%q,"opensAt":%q,"closesAt":%q,"at":%q}`, s.id,
			harness.Stamp(now.Add(-time.Minute)), harness.Stamp(now.Add(d)), harness.Stamp(now)))
	}
}

func enters(users ...string) func(*scene) {
	return func(s *scene) {
		for _, user := range users {
			s.askEntry(user, "enters", "PUT")
		}
	}
}

func restocks(s *scene) {
	s.change(command{units: 1}, `{"action":"add","saleId":"`+s.id+`","seedId":"second-batch","stock":1}`)
}

func reconciles(s *scene) { s.reconcile() }
func releases(s *scene)   { s.release("release") }
func leads(s *scene)      { s.lead("draw") }

// leadsTo leads the draw to the instant at which the first call is due, or to its call of that
// number, which has begun then.
func leadsTo(number int) func(*scene) {
	return func(s *scene) {
		until(enteringLasts + harness.DrawTimes.Settle)(s)
		for time.Since(s.began) < enteringLasts+beginsAfter-time.Minute {
			do(leads, after(time.Minute))(s)
		}
		until(enteringLasts + beginsAfter)(s)
		for try := 0; try < 5 && len(s.watch.draw.calls) < number; try++ {
			do(leads, after(time.Minute))(s)
		}
	}
}

// recall asks for the recall once: if it is cut off after it is in the table, the passes must go on with it.
func (s *scene) recall() {
	var out struct{ Applied bool }
	err := s.invoke(harness.Seeding, "operator", `{"action":"recall","saleId":"`+s.id+`","note":"defective"}`, &out)
	s.write("recall: %+v %v", out, err)
}

// buyWhile buys for Bob while something happens without faults, and again when no environment may refuse
// because of older data.
func (s *scene) buyWhile(other func(*scene), key string) {
	e := s.start()
	during(without(other), func(s *scene) { s.buy(s.runningSale, e, "bob", "") })(s)
	time.Sleep(harness.RefusalAge)
	s.buy(s.runningSale, s.alive(e), "bob", key)
}

// buyLate has somebody of the first call buy, whose purchase is not answered and not applied yet.
func (s *scene) buyLate() {
	s.n.planned.holdsBack = true
	called := func(user string) bool { return s.watch.draw.callOf[user] == 1 }
	buys(entrants[slices.IndexFunc(entrants, called)], "")(s)
	s.n.planned.holdsBack = false
}

// dropQueue loses every message.
func (s *scene) dropQueue() {
	for _, m := range s.world.Queue.Receive(time.Now(), 100, nil) {
		s.world.Queue.Remove(m.ReceiptHandle)
	}
}

func (s *scene) putPoison() {
	s.simulation.draft.poisons = harness.PoisonMessages
	for _, body := range harness.PoisonMessages {
		s.world.Queue.Put(body, time.Now())
	}
}
