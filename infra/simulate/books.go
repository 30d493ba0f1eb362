package simulate

import (
	"fmt"
	"slices"
	"strings"

	"flashsale/shared/ledger/dynamotest"
)

// books is the table read by its documentation, not by the ledger's code.
type books struct {
	sale   saleRow
	shards []shardRow
	claims map[string]claimRow // by user
	orders map[string]orderRow // by order id
	// doubled are users with a second claim.
	doubled []string
	drained bool
}

type saleRow struct {
	seeded int64
	shards int64
	open   bool
}

type shardRow struct {
	key           string
	stock, seeded int64
}

type claimRow struct {
	id, orderID string
	shard       int64
}

type orderRow struct{ user, claimID string }

// readBooks reads the whole table, past every fault.
func readBooks(db *dynamotest.DB) *books {
	b := &books{claims: map[string]claimRow{}, orders: map[string]orderRow{}}
	for _, it := range db.Items(tableName) {
		pk, sk := text(it["pk"]), text(it["sk"])
		switch kind, rest, _ := strings.Cut(pk, "#"); {
		case kind == "SALE" && sk == "SALE":
			b.sale.seeded, _ = number(it["seeded"])
			b.sale.shards, _ = number(it["shards"])
			b.sale.open = text(it["state"]) == "OPEN"
		case kind == "SALES":
			b.drained = it["drained"] != nil
		case kind == "STOCK":
			s := shardRow{key: rest}
			s.stock, _ = number(it["stock"])
			s.seeded, _ = number(it["seeded"])
			b.shards = append(b.shards, s)
		case kind == "CLAIM":
			c := claimRow{id: text(it["claimId"]), orderID: text(it["orderId"])}
			c.shard, _ = number(it["shard"])
			if _, twice := b.claims[sk]; twice {
				b.doubled = append(b.doubled, sk)
			}
			b.claims[sk] = c
		case kind == "ORDER":
			b.orders[rest] = orderRow{text(it["user"]), text(it["claimId"])}
		}
	}
	return b
}

// stock is what is left in all shards.
func (b *books) stock() int64 {
	left := int64(0)
	for _, s := range b.shards {
		left += s.stock
	}
	return left
}

// unfinished are the users whose claim has no order yet.
func (b *books) unfinished() []string {
	var users []string
	for user, c := range b.claims {
		if o, ok := b.orders[c.orderID]; c.orderID == "" || !ok || o.claimID != c.id {
			users = append(users, user)
		}
	}
	slices.Sort(users)
	return users
}

// audit checks what must hold at every instant: P1 to P3, and P7 as far as
// orders exist.
func (b *books) audit() (found []string) {
	perShard := map[string]int64{}
	for _, user := range b.doubled {
		found = append(found, fmt.Sprintf("P3: %s holds two claims", user))
	}
	owner := map[string]string{}
	for user, c := range b.claims {
		perShard[fmt.Sprintf("%s#%d", saleID, c.shard)]++
		if c.orderID == "" {
			continue
		}
		if other, twice := owner[c.orderID]; twice {
			found = append(found, fmt.Sprintf("P7: %s and %s have order %s", other, user, c.orderID))
		}
		owner[c.orderID] = user
	}
	seeded := int64(0)
	for _, s := range b.shards {
		if s.stock < 0 {
			found = append(found, fmt.Sprintf("P1: shard %s has %d units", s.key, s.stock))
		}
		if sold := perShard[s.key]; s.stock+sold != s.seeded {
			found = append(found, fmt.Sprintf("P2: shard %s has %d units, %d claims, %d seeded", s.key, s.stock, sold, s.seeded))
		}
		seeded += s.seeded
		delete(perShard, s.key)
	}
	for key, n := range perShard {
		found = append(found, fmt.Sprintf("P2: %d claims on shard %s, which does not exist", n, key))
	}
	// The sale's own count moves with the shards' in one transaction.
	if b.sale.open && seeded != b.sale.seeded {
		found = append(found, fmt.Sprintf("P2: %d units in the shards, %d in the sale", seeded, b.sale.seeded))
	}
	for id, o := range b.orders {
		if c, ok := b.claims[o.user]; !ok || c.orderID != id || c.id != o.claimID {
			found = append(found, fmt.Sprintf("P7: order %s names claim %s of %s, whose claim is %+v", id, o.claimID, o.user, c))
		}
	}
	slices.Sort(found)
	return found
}
