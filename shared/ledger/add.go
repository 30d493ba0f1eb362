package ledger

import (
	"cmp"
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Add adds units to a sale: shard by shard, each in one transaction with the step that it is, so
// that the addition applies exactly once per shard however often it is repeated or
// interrupted (P15). The same transaction raises the sale's version and takes the shard
// out of the empty set, so the set stays correct and a sold-out sale sells again. a
// must have passed Check.
//
// It fails with sale.SaleNotFound (a draft included), with sale.Conflicting when the
// seed id was used for something else, an edit included, or the sale's maxStock leaves no
// room, with sale.ChangedMeanwhile if it has ReadVersion and there was another change since, with
// sale.Recalled, sale.Busy or sale.Internal.
func (l *Ledger) Add(ctx context.Context, a sale.Addition) (Seeding, error) {
	s, err := l.table.OpenSale(ctx, a.SaleID)
	if err != nil {
		return Seeding{}, err
	}
	asks := sale.Change{ID: a.SeedID, Action: sale.ActionAdd, Author: a.Author, Units: a.Stock}
	if err := l.announceSeeding(ctx, s, a.ReadVersion, asks); err != nil {
		return Seeding{}, err
	}
	applied, err := l.table.Under(ctx, a.SaleID, table.SeedHead(a.SeedID))
	if err != nil {
		return Seeding{}, err
	}
	done := Seeding{SaleID: a.SaleID, Shards: s.Shards}
	// One shard after the other: each transaction writes the sale item, so concurrent
	// ones would only conflict.
	for k := range s.Shards {
		units := sale.Share(a.Stock, k, s.Shards)
		if units == 0 {
			break
		}
		if applied[table.IdentityOf(table.SeedShardKey(a.SaleID, a.SeedID, k))] != nil {
			continue
		}
		added, err := l.addToShard(ctx, a, k, units)
		if err != nil {
			return Seeding{}, err
		}
		done.Applied = done.Applied || added
	}
	s, err = l.table.OpenSale(ctx, a.SaleID)
	done.Seeded, done.ReadVersion = s.Seeded, a.ReadVersion.WithSeeding(s)
	return done, err
}

// announceSeeding stores the seed id's request, or checks the stored one. A
// withdrawal's units are negative, so it cannot be mistaken for an addition. The first
// caller's author stands. In a sale
// with a maxStock an addition is announced only if there is room for all of it, which
// it reserves: concurrent additions cannot exceed the maxStock together, and none is
// applied in part.
//
// A seed id is no edit's id. The trail is read after the sale until it is whole, and the transaction requires
// that the sale has had no edit since; an edit's transaction requires that there is no such
// seed id. So if both are asked for at once under one id, the later one is refused.
//
// With seen there has been no other addition or withdrawal since, either. Heads have no numbers, so
// a read cannot tell that one is not visible yet: the transaction tells whether the id is there,
// also if it must fail because the sale has been edited since.
func (l *Ledger) announceSeeding(ctx context.Context, s sale.Sale, seen *sale.ReadVersion, c sale.Change) error {
	c.At = l.now()
	for left := l.table.UpTo(table.PatientTries); ; {
		switch {
		case s.IsSealed():
			return sale.RefuseSealed()
		case c.Action == sale.ActionAdd && s.IsRecalled():
			return sale.RefuseRecalled()
		}
		h, err := l.historyOf(ctx, s, c.ID, 0)
		switch {
		case err != nil:
			return err
		case h.asked != nil:
			return errOtherChange
		case h.whole:
		case !left.Again(ctx):
			return errHalf
		default:
			if s, err = l.table.OpenSale(ctx, s.ID); err != nil {
				return err
			}
			continue
		}
		at := s
		if seen != nil {
			if seen.Edits > s.Edits { // the trail was not read that far
				return refuseMeanwhile(s, h.newest)
			}
			at.Edits = seen.Edits
		}
		reasons, err := l.table.RetryTransaction(ctx, l.table.Put(table.SeedingItem(s, c)), l.unedited(at, seen, c))
		switch {
		case reasons == nil:
			return sale.AsInternal(err)
		case table.Failed(reasons[0]):
			return sameSeeding(reasons[0].Item, c)
		}
		now, readErr := table.ReadSale(reasons[1].Item)
		switch {
		case readErr != nil:
			return sale.AsInternal(readErr)
		case seen != nil && now.Edits == s.Edits && now.ReadVersion() != *seen:
			return l.refuseSeeding(ctx, now, *seen, h.newest)
		case now.Edits == s.Edits && c.Action == sale.ActionWithdraw:
			return errCalled
		case now.Edits == s.Edits:
			return refuseRoom(reasons[1].Item)
		case !left.Again(ctx):
			return sale.Fail(sale.Busy, err)
		}
		s = now
	}
}

// refuseSeeding refuses an addition or a withdrawal because of the newest edit, or because of the
// newest addition or withdrawal that can be read.
func (l *Ledger) refuseSeeding(ctx context.Context, s sale.Sale, seen sale.ReadVersion, edit table.Item) error {
	if s.Edits != seen.Edits {
		return refuseMeanwhile(s, edit)
	}
	heads, err := l.table.Seedings(ctx, s.ID)
	var newest *sale.Change
	for _, it := range heads {
		c, readErr := table.ReadSeeding(it)
		if err = cmp.Or(err, readErr); newest == nil || c.At.After(newest.At) {
			newest = &c
		}
	}
	if err != nil {
		return sale.AsInternal(err)
	}
	return sale.RefuseMeanwhile(&s, newest)
}

// unedited requires that the sale has had as many edits as s and, with seen, as many additions and
// withdrawals as that, and counts this one. For an addition in a sale with a maxStock it also takes
// the room, and for a withdrawal from one with a draw it requires that nobody has been called.
func (l *Ledger) unedited(s sale.Sale, seen *sale.ReadVersion, c sale.Change) types.TransactWriteItem {
	condition, update := "attribute_not_exists(#edits)", "ADD #seedings :one"
	values := table.Item{":one": table.One}
	if s.Edits > 0 {
		condition, values[":edits"] = "#edits = :edits", table.N(s.Edits)
	}
	switch {
	case seen == nil:
	case seen.Seedings > 0:
		condition, values[":seedings"] = condition+" AND #seedings = :seedings", table.N(seen.Seedings)
	default:
		condition += " AND attribute_not_exists(#seedings)"
	}
	if s.Limited && c.Action == sale.ActionAdd {
		condition, update = condition+" AND #room >= :u", "SET #room = #room - :u "+update
		values[":u"] = table.N(c.Units)
	}
	if s.HasDraw() && c.Action == sale.ActionWithdraw {
		condition += " AND " + ifUncalled
	}
	return l.table.Action(table.Update{
		Key: table.SaleKey(s.ID), Expr: update, If: condition, Values: values, ReturnOld: true,
	})
}

// refuseRoom says for how many units there is room in the stored sale.
func refuseRoom(stored table.Item) error {
	r := table.Reader{Item: stored}
	room := r.Number("room")
	if r.Err != nil {
		return sale.AsInternal(r.Err)
	}
	return sale.Refusef(sale.Conflicting, "the sale's maxStock leaves room for %d more units", room)
}

// sameSeeding refuses a seed id whose stored request is another one than c.
func sameSeeding(stored table.Item, c sale.Change) error {
	before, err := table.ReadSeeding(stored)
	switch {
	case err != nil:
		return sale.AsInternal(err)
	case before.Action != c.Action || before.Units != c.Units:
		return sale.Refuse(sale.Conflicting, "the seedId was used before with another action or stock")
	}
	return nil
}

// addToShard adds units to one shard, and reports whether this call did.
func (l *Ledger) addToShard(ctx context.Context, a sale.Addition, k int, units int64) (bool, error) {
	step := table.With(table.SeedShardKey(a.SaleID, a.SeedID, k), table.Item{
		"units": table.N(units), "at": table.Millis(l.now()),
	})
	reasons, err := l.table.RetryTransaction(ctx,
		l.table.Put(step),
		l.table.Action(table.Update{
			Key: table.StockKey(a.SaleID, k), Expr: "SET #stock = #stock + :u, #seeded = #seeded + :u",
			If: "attribute_exists(pk)", Values: table.Item{":u": table.N(units)},
		}),
		l.table.Action(table.Update{
			Key: table.SaleKey(a.SaleID), Expr: "SET #seeded = #seeded + :u, #version = #version + :one DELETE #empty :k",
			If: "#state = :open", Values: table.Item{
				":u": table.N(units), ":one": table.One, ":k": table.NS(k), ":open": table.S(string(sale.Open)),
			},
		}),
		l.undrain(a.SaleID),
	)
	switch {
	case reasons != nil && table.Failed(reasons[0]):
		return false, nil // its step exists: applied before
	case reasons != nil && isSealed(reasons[3]):
		return false, sale.RefuseSealed()
	}
	return err == nil, sale.AsInternal(err)
}

// undrain puts a sale back on the list of sales to reconcile, unless it was sealed.
func (l *Ledger) undrain(saleID string) types.TransactWriteItem {
	return l.table.Action(table.Update{
		Key: table.ListingKey(saleID), Expr: "REMOVE #drained", If: ifNotSealed, ReturnOld: true,
	})
}
