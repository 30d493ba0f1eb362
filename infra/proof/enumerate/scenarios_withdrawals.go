package enumerate

import (
	"fmt"

	"flashsale/infra/proof/harness"
)

// withdrawalScenarios are the scenarios in which units are withdrawn, or may not be added.
var withdrawalScenarios = []scenario{
	{
		name: "a withdrawal under faults", stock: 2, shards: 1,
		prepare: func(r *run) { r.buy(r.Start(harness.Purchasing, 0), "alice", "") },
		act: func(r *run) {
			r.withdraw("rest", 9)
			r.withoutFaults(func() { r.buy(r.Start(harness.Purchasing, 0), "bob", "") })
		},
		check: func(r *run) {
			r.checkSold(1)
			r.checkUnits(1, 1)
			for _, a := range r.answers {
				if a.user == "bob" && a.reply.Code != "sold-out" {
					r.violate("P6: bob was told %d %s", a.reply.Status, a.reply.Code)
				}
			}
		},
	},
	{
		name: "a withdrawal while the last units are bought", stock: 2, shards: 1,
		act: func(r *run) {
			e := r.Start(harness.Purchasing, 0)
			r.during(func() { r.withoutFaults(func() { r.buy(e, "alice", "") }) }, func() { r.withdraw("rest", 2) })
		},
		check: func(r *run) {
			bought := len(harness.ReadBooks(r.DB, harness.SaleID).Claims)
			r.checkSold(bought)
			r.checkUnits(bought, 2-bought)
		},
	},
	{
		name: "a purchase while the last units are withdrawn", stock: 1, shards: 1,
		act: func(r *run) {
			e := r.Start(harness.Purchasing, 0)
			r.during(func() { r.withoutFaults(func() { r.withdraw("rest", 1) }) }, func() { r.buy(e, "alice", "first") })
		},
		check: func(r *run) {
			bought := len(harness.ReadBooks(r.DB, harness.SaleID).Claims)
			r.checkSold(bought)
			r.checkUnits(bought, 1-bought)
		},
	},
	{
		name: "one withdrawal by two operators", stock: 4, shards: 2,
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.withdraw("part", 3) }) }, func() { r.withdraw("part", 3) })
		},
		check: func(r *run) { r.checkUnits(1, 3) },
	},
	{
		// Units that the withdrawal did not find are not taken from later additions.
		name: "a restock during a withdrawal", stock: 1, shards: 1,
		act: func(r *run) {
			r.during(func() { r.withoutFaults(func() { r.mustSeed(restockEvent) }) }, func() { r.withdraw("rest", 2) })
		},
		check: func(r *run) {
			taken := 0
			for _, units := range r.withdrawn {
				taken += units
			}
			r.checkUnits(2-taken, taken)
		},
	},
	{
		name: "two additions that have room for one", stock: 1, shards: 1, maxStock: 3,
		act: func(r *run) {
			add := func(seedID string) func() {
				return func() {
					r.seed(fmt.Sprintf(`{"action":"add","saleId":%q,"seedId":%q,"stock":2}`, harness.SaleID, seedID))
				}
			}
			r.during(func() { r.withoutFaults(add("one")) }, add("other"))
		},
		check: func(r *run) { r.checkUnits(3, 0) },
	},
}

// checkUnits checks how many units the sale has after the withdrawals, including sold ones,
// and that repeats of these return the same.
func (r *run) checkUnits(seeded, withdrawn int) {
	if b := harness.ReadBooks(r.DB, harness.SaleID); b.Seeded != int64(seeded) {
		r.violate("P15: %d units are seeded, want %d", b.Seeded, seeded)
	}
	before := r.DB.Dump()
	for _, event := range harness.Sorted(r.withdrawn) {
		answer, _ := r.seed(event)
		if withdrawn -= r.withdrawn[event]; answer.Applied || answer.Withdrawn != r.withdrawn[event] {
			r.violate("P9: %s answers %+v, before %d units", event, answer, r.withdrawn[event])
		}
	}
	if withdrawn != 0 || r.DB.Dump() != before {
		r.violate("P15: %v units were withdrawn, %d less than expected, or a repeat changed the table", r.withdrawn, withdrawn)
	}
}
