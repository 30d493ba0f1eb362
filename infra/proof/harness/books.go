package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	recount "flashsale/infra/kit/books"
	"flashsale/infra/kit/dynamotest"
)

// Books is one sale's part of the table, read according to its documentation, without
// the ledger's code.
type Books struct {
	id      string
	Sale    SaleRow
	Shards  []ShardRow
	Claims  map[string]ClaimRow // by user
	Orders  map[string]OrderRow // by order id
	Drained bool
	// Recalling: the sale was recalled, and the recall is not complete.
	Recalling bool
	goesBack  map[string]bool // payments of paid orders of a recalled sale
	items     []map[string]types.AttributeValue
}

// SaleRow is the sale's own item.
type SaleRow struct {
	Seeded           int64
	Paused, Recalled bool
}

// ShardRow is a stock shard.
type ShardRow struct {
	stock int64
	// Released claims, and how many of their units are back.
	Released, PutBack int64
}

// ClaimRow is a claim.
type ClaimRow struct {
	ID, OrderID string
	// Payment or ReleasedBy is how the claim ended, if it has.
	Payment, ReleasedBy string
}

// End is how the claim ended, "" if it has not.
func (c ClaimRow) End() string { return c.Payment + c.ReleasedBy }

// OrderRow is an order.
type OrderRow struct{ user, claimID string }

// ReadBooks reads the whole table for one sale, without faults. Orders that name no
// existing sale count as this one's, too.
func ReadBooks(db *dynamotest.DB, id string) *Books {
	b := &Books{id: id, Claims: map[string]ClaimRow{}, Orders: map[string]OrderRow{}, goesBack: map[string]bool{}, items: db.Items(TableName)}
	for _, it := range b.items {
		pk, sk := Text(it["pk"]), Text(it["sk"])
		kind, rest, _ := strings.Cut(pk, "#")
		of, _, _ := strings.Cut(rest, "#")
		switch kind {
		case "SALES":
			of = sk
		case "ORDER":
			of = Text(it["saleId"])
			if db.Item(TableName, "SALE#"+of, "SALE") == nil {
				of = id
			}
		}
		if of != id {
			continue
		}
		switch {
		case kind == "SALE" && sk == "SALE":
			b.Sale.Seeded, _ = Number(it["seeded"])
			paused, _ := it["paused"].(*types.AttributeValueMemberBOOL)
			b.Sale.Paused, b.Sale.Recalled = paused != nil && paused.Value, it["recalledAt"] != nil
		case kind == "SALES":
			b.Drained, b.Recalling = it["drained"] != nil, it["recalling"] != nil
		case kind == "STOCK":
			var s ShardRow
			s.stock, _ = Number(it["stock"])
			s.Released, _ = Number(it["released"])
			s.PutBack, _ = Number(it["putBack"])
			b.Shards = append(b.Shards, s)
		case kind == "CLAIM":
			c := ClaimRow{ID: Text(it["claimId"]), OrderID: Text(it["orderId"])}
			c.Payment, c.ReleasedBy = Text(it["payment"]), Text(it["releasedBy"])
			b.Claims[sk] = c
		case kind == "REFUND" && Text(it["reason"]) == "recalled":
			b.goesBack[sk] = true
		case kind == "ORDER":
			b.Orders[rest] = OrderRow{Text(it["user"]), Text(it["claimId"])}
		}
	}
	return b
}

// Stock returns the units left in all shards.
func (b *Books) Stock() int64 {
	left := int64(0)
	for _, s := range b.Shards {
		left += s.stock
	}
	return left
}

// Unfinished returns the users whose claim has no order yet.
func (b *Books) Unfinished() []string {
	var users []string
	for user, c := range b.Claims {
		if o, ok := b.Orders[c.OrderID]; c.OrderID == "" || !ok || o.claimID != c.ID {
			users = append(users, user)
		}
	}
	slices.Sort(users)
	return users
}

// CheckRecall checks that a recalled sale sells nothing and that each of its orders is released, or
// is paid and its payment goes back (P35).
func (b *Books) CheckRecall() (found []string) {
	if b.Recalling || !b.Sale.Recalled || !b.Sale.Paused {
		return []string{fmt.Sprintf("P35: the recall of %s is not complete", b.id)}
	}
	left := len(b.goesBack)
	for user, c := range b.Claims {
		switch {
		case c.ReleasedBy == "" && !b.goesBack[c.Payment]:
			found = append(found, fmt.Sprintf("P35: the order of %s ended as %q, and no payment of it goes back", user, c.End()))
		case c.ReleasedBy != "" && c.Payment != "":
			found = append(found, fmt.Sprintf("P35: the order of %s is paid and released", user))
		case c.Payment != "":
			left--
		}
	}
	if left != 0 {
		found = append(found, fmt.Sprintf("P35: %d payments that have paid no order go back as if they had", left))
	}
	for k, s := range b.Shards {
		if s.Released != s.PutBack {
			found = append(found, fmt.Sprintf("P35: shard %d has %d units released and %d put back", k, s.Released, s.PutBack))
		}
	}
	slices.Sort(found)
	return found
}

// Audit recounts a sale whose orders are all finished.
func (b *Books) Audit() (found []string) {
	receipt, err := recount.Of(b.items).Recount(context.Background(), b.id, recount.Options{Overdue: recount.AtOnce})
	if err != nil {
		return []string{fmt.Sprintf("P11: %v", err)}
	}
	for _, f := range receipt.Findings {
		found = append(found, f.Promise+": "+f.Text)
	}
	return found
}
