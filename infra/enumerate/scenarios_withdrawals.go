package enumerate

import (
	"fmt"

	"flashsale/infra/harness"
)

// withdrawals are the scenarios in which units are withdrawn, or may not be added.
var withdrawals = []scenario{
	{
		name: "a withdrawal that meets accidents", stock: 2, shards: 1,
		prepare: func(r *run) { r.buys(r.Start(harness.Purchasing, 0), "alice", "") },
		act: func(r *run) {
			r.withdraws("rest", 9)
			r.calmly(func() { r.buys(r.Start(harness.Purchasing, 0), "bob", "") })
		},
		judge: func(r *run) {
			r.sold(1)
			r.kept(1, 1)
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
			r.during(func() { r.calmly(func() { r.buys(e, "alice", "") }) }, func() { r.withdraws("rest", 2) })
		},
		judge: func(r *run) {
			bought := len(harness.ReadBooks(r.DB, harness.SaleID).Claims)
			r.sold(bought)
			r.kept(bought, 2-bought)
		},
	},
	{
		name: "a purchase while the last units are withdrawn", stock: 1, shards: 1,
		act: func(r *run) {
			e := r.Start(harness.Purchasing, 0)
			r.during(func() { r.calmly(func() { r.withdraws("rest", 1) }) }, func() { r.buys(e, "alice", "first") })
		},
		judge: func(r *run) {
			bought := len(harness.ReadBooks(r.DB, harness.SaleID).Claims)
			r.sold(bought)
			r.kept(bought, 1-bought)
		},
	},
	{
		name: "one withdrawal by two operators", stock: 4, shards: 2,
		act: func(r *run) {
			r.during(func() { r.calmly(func() { r.withdraws("part", 3) }) }, func() { r.withdraws("part", 3) })
		},
		judge: func(r *run) { r.kept(1, 3) },
	},
	{
		// Units that the withdrawal did not find are not taken from later additions.
		name: "a restock during a withdrawal", stock: 1, shards: 1,
		act: func(r *run) {
			r.during(func() { r.calmly(func() { r.commands(restock) }) }, func() { r.withdraws("rest", 2) })
		},
		judge: func(r *run) {
			taken := 0
			for _, units := range r.withdrawn {
				taken += units
			}
			r.kept(2-taken, taken)
		},
	},
	{
		name: "two additions that have room for one", stock: 1, shards: 1, maxStock: 3,
		act: func(r *run) {
			add := func(seedID string) func() {
				return func() {
					r.asks(fmt.Sprintf(`{"action":"add","saleId":%q,"seedId":%q,"stock":2}`, harness.SaleID, seedID))
				}
			}
			r.during(func() { r.calmly(add("one")) }, add("other"))
		},
		judge: func(r *run) { r.kept(3, 0) },
	},
}

// kept checks how many units the sale has after the withdrawals, including sold ones,
// and that repeats of these return the same.
func (r *run) kept(seeded, withdrawn int) {
	if b := harness.ReadBooks(r.DB, harness.SaleID); b.Sale.Seeded != int64(seeded) {
		r.violate("P15: %d units are seeded, want %d", b.Sale.Seeded, seeded)
	}
	before := r.DB.Dump()
	for _, event := range harness.Sorted(r.withdrawn) {
		answer, _ := r.asks(event)
		if withdrawn -= r.withdrawn[event]; answer.Applied || answer.Withdrawn != r.withdrawn[event] {
			r.violate("P9: %s answers %+v, before %d units", event, answer, r.withdrawn[event])
		}
	}
	if withdrawn != 0 || r.DB.Dump() != before {
		r.violate("P15: %v units were withdrawn, %d less than expected, or a repeat changed the table", r.withdrawn, withdrawn)
	}
}
