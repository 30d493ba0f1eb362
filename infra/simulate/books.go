package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	recount "flashsale/infra/books"
	"flashsale/shared/ledger/dynamotest"
)

// books is one sale's part of the table, read according to its documentation, without
// the ledger's code.
type books struct {
	id      string
	sale    saleRow
	shards  []shardRow
	claims  map[string]claimRow // by user
	orders  map[string]orderRow // by order id
	drained bool
	items   []map[string]types.AttributeValue
}

type saleRow struct {
	seeded int64
	shards int64
	open   bool
	paused bool
}

type shardRow struct {
	key           string
	stock, seeded int64
	// released claims, and how many of their units are back.
	released, putBack int64
}

type claimRow struct {
	id, orderID string
	shard       int64
	// payment or releasedBy is how the claim ended, if it has.
	payment, releasedBy string
}

func (c claimRow) end() string { return c.payment + c.releasedBy }

type orderRow struct{ user, claimID string }

// readBooks reads the whole table for one sale, without faults. Orders that name no
// existing sale count as this one's, too.
func readBooks(db *dynamotest.DB, id string) *books {
	b := &books{id: id, claims: map[string]claimRow{}, orders: map[string]orderRow{}, items: db.Items(tableName)}
	for _, it := range b.items {
		pk, sk := text(it["pk"]), text(it["sk"])
		kind, rest, _ := strings.Cut(pk, "#")
		of, _, _ := strings.Cut(rest, "#")
		switch kind {
		case "SALES":
			of = sk
		case "ORDER":
			of = text(it["saleId"])
			if db.Item(tableName, "SALE#"+of, "SALE") == nil {
				of = id
			}
		}
		if of != id {
			continue
		}
		switch {
		case kind == "SALE" && sk == "SALE":
			b.sale.seeded, _ = number(it["seeded"])
			b.sale.shards, _ = number(it["shards"])
			b.sale.open = text(it["state"]) == "OPEN"
			paused, _ := it["paused"].(*types.AttributeValueMemberBOOL)
			b.sale.paused = paused != nil && paused.Value
		case kind == "SALES":
			b.drained = it["drained"] != nil
		case kind == "STOCK":
			s := shardRow{key: rest}
			s.stock, _ = number(it["stock"])
			s.seeded, _ = number(it["seeded"])
			s.released, _ = number(it["released"])
			s.putBack, _ = number(it["putBack"])
			b.shards = append(b.shards, s)
		case kind == "CLAIM":
			c := claimRow{id: text(it["claimId"]), orderID: text(it["orderId"])}
			c.shard, _ = number(it["shard"])
			c.payment, c.releasedBy = text(it["payment"]), text(it["releasedBy"])
			b.claims[sk] = c
		case kind == "ORDER":
			b.orders[rest] = orderRow{text(it["user"]), text(it["claimId"])}
		}
	}
	return b
}

// stock returns the units left in all shards.
func (b *books) stock() int64 {
	left := int64(0)
	for _, s := range b.shards {
		left += s.stock
	}
	return left
}

// unfinished returns the users whose claim has no order yet.
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

// audit recounts a sale that must be quiet.
func (b *books) audit() (found []string) {
	receipt, err := recount.Of(b.items).Recount(context.Background(), b.id, recount.Options{Overdue: recount.AtOnce})
	if err != nil {
		return []string{fmt.Sprintf("P11: %v", err)}
	}
	for _, f := range receipt.Findings {
		found = append(found, f.Promise+": "+f.Text)
	}
	return found
}
