package main

import "fmt"

// audit holds a quiet sale's books against its rules and against everything
// that its buyers were told.
func (e *event) audit(b *books) []string {
	if b == nil {
		return []string{"the sale is not in the table (P11)"}
	}
	var found []string
	problem := func(format string, a ...any) { found = append(found, fmt.Sprintf(format, a...)) }
	for _, m := range b.malformed {
		problem("malformed: %s", m)
	}
	e.auditStock(b, problem)
	e.auditOrders(b, problem)
	e.auditPromises(b, problem)
	left := int64(0)
	for _, s := range b.shards {
		left += s.stock
	}
	return append(found, e.told.untrue(b.claims, left)...)
}

// auditStock checks P1, P2 and P15, shard by shard.
func (e *event) auditStock(b *books, problem func(string, ...any)) {
	sold := map[string]int64{}
	for _, c := range b.claims {
		sold[c.shard]++
		if _, known := b.shards[c.shard]; !known {
			problem("claim %s is of shard %s, which is not there (P2)", c.claimID, c.shard)
		}
	}
	var seeded int64
	for k, s := range b.shards {
		seeded += s.seeded
		if s.stock < 0 {
			problem("shard %s has %d units (P1)", k, s.stock)
		}
		if s.stock+sold[k] != s.seeded {
			problem("shard %s: %d left + %d claims, but %d seeded (P2)", k, s.stock, sold[k], s.seeded)
		}
	}
	if want := e.seeded(); seeded != want || b.seeded != want {
		problem("the shards were seeded %d units and the sale says %d, want %d (P15)", seeded, b.seeded, want)
	}
	if len(b.shards) != e.shards || b.shardCount != int64(e.shards) {
		problem("%d shards and the sale says %d, want %d", len(b.shards), b.shardCount, e.shards)
	}
	for _, k := range b.empty {
		if s := b.shards[k]; s.stock != 0 {
			problem("shard %s counts as empty and has %d units (P6)", k, s.stock)
		}
	}
}

// auditOrders checks P3, P7 and P8.
func (e *event) auditOrders(b *books, problem func(string, ...any)) {
	orders, named, users := map[string]order{}, map[string]bool{}, map[string]bool{}
	for _, o := range b.orders {
		orders[o.id] = o
	}
	for _, c := range b.claims {
		if users[c.user] {
			problem("%s has two claims (P3)", c.user)
		}
		users[c.user] = true
		o, there := orders[c.orderID]
		switch {
		case c.orderID == "":
			problem("claim %s of %s is not confirmed (P8)", c.claimID, c.user)
			continue
		case !there:
			problem("order %s of %s is not in the table (P7)", c.orderID, c.user)
		case o.user != c.user || o.claimID != c.claimID:
			problem("order %s names %s and claim %s, want %s and %s (P7)", o.id, o.user, o.claimID, c.user, c.claimID)
		}
		if named[c.orderID] {
			problem("order %s belongs to two claims (P7)", c.orderID)
		}
		named[c.orderID] = true
	}
	for _, o := range b.orders {
		if !named[o.id] {
			problem("no claim names order %s of %s (P7)", o.id, o.user)
		}
	}
}

// auditPromises checks P4: what was answered is what is there.
func (e *event) auditPromises(b *books, problem func(string, ...any)) {
	there, crowd := map[string]claim{}, map[string]bool{}
	for _, buyer := range e.buyers {
		crowd[buyer.name] = true
	}
	for _, c := range b.claims {
		there[c.user] = c
		if !crowd[c.user] {
			problem("%s never ordered and has claim %s (P12)", c.user, c.claimID)
		}
	}
	e.told.mu.Lock()
	defer e.told.mu.Unlock()
	for user, claimID := range e.told.claims {
		if there[user].claimID != claimID {
			problem("%s was told claim %s, the table has %q (P4)", user, claimID, there[user].claimID)
		}
	}
	for user, orderID := range e.told.orders {
		if there[user].orderID != orderID {
			problem("%s was told order %s, the table has %q (P7)", user, orderID, there[user].orderID)
		}
	}
	// By now every buyer has an answer, so who has a claim knows of it.
	for user, c := range there {
		if e.told.claims[user] == "" {
			problem("%s has claim %s and was never told (P4, P9)", user, c.claimID)
		}
	}
}
