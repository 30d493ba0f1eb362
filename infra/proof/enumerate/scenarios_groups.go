package enumerate

import "flashsale/infra/proof/harness"

// otherSale has other shards and buckets than harness.SaleID.
const otherSale = "maotai"

// groupScenarios are the scenarios of two sales in which a user has one order.
var groupScenarios = []scenario{
	{
		name: "one buyer clicks in two sales of a group", stock: 1, shards: 1, grouped: true,
		act: func(r *run) {
			one, other := r.Start(harness.Purchasing, 0), r.Start(harness.Purchasing, 0)
			r.during(func() { r.buyIn(other, otherSale, "alice", "") }, func() { r.buy(one, "alice", "") })
		},
		check: func(r *run) { r.checkOneOrder("alice") },
	},
	{
		name: "one buyer clicks twice in a sale and once in another of the group", stock: 2, shards: 2, grouped: true,
		act: func(r *run) {
			one, other := r.Start(harness.Purchasing, 0), r.Start(harness.Purchasing, 0)
			r.during(func() {
				r.withoutFaults(func() {
					r.buy(r.Start(harness.Purchasing, 0), "alice", "")
					r.buyIn(other, otherSale, "alice", "")
				})
			}, func() { r.buy(one, "alice", "first") })
		},
		check: func(r *run) { r.checkOneOrder("alice") },
	},
	{
		name: "an order in a sold-out sale of a group", stock: 1, shards: 1, grouped: true,
		act: func(r *run) {
			e := r.Start(harness.Purchasing, 0)
			r.during(func() { r.withoutFaults(func() { r.buy(r.Start(harness.Purchasing, 0), "bob", "") }) },
				func() { r.buyIn(e, otherSale, "alice", "") })
			r.buy(r.alive(e), "alice", "")
		},
		check: func(r *run) { r.checkOneOrder("alice", "bob") },
	},
}

// checkOneOrder expects that each of the users has one order in all sales, and nobody else has any.
func (r *run) checkOneOrder(users ...string) {
	orders := map[string]int{}
	for _, id := range r.sales {
		for _, c := range harness.ReadBooks(r.DB, id).Claims {
			orders[c.User]++
		}
	}
	for _, user := range users {
		if orders[user] != 1 || len(orders) != len(users) {
			r.violate("P34: %v have orders, want one each of %v", orders, users)
		}
	}
}
