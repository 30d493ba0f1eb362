package ledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Add adds units to a sale: shard by shard, each in one transaction with a receipt, so
// that the addition applies exactly once per shard however often it is repeated or
// interrupted (P15). The same transaction raises the sale's version and takes the shard
// out of the empty set, so the set stays correct and a sold-out sale sells again. a
// must have passed Check.
//
// It fails with sale.SaleNotFound (a draft included), with sale.Conflicting when the
// seed id was used for something else, an edit included, or the sale's maxStock leaves no
// room, with sale.Recalled, sale.Busy or sale.Internal.
func (l *Ledger) Add(ctx context.Context, a sale.Addition) (Seeding, error) {
	s, err := l.readOpenSale(ctx, a.SaleID)
	if err != nil {
		return Seeding{}, err
	}
	if err := l.announceSeeding(ctx, s, sale.Change{ID: a.SeedID, Action: sale.ActionAdd, Author: a.Author, Units: a.Stock}); err != nil {
		return Seeding{}, err
	}
	applied, err := l.receipts(ctx, a.SaleID, seedHead(a.SeedID))
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
		if applied[identityOf(seedShardKey(a.SaleID, a.SeedID, k))] != nil {
			continue
		}
		added, err := l.addToShard(ctx, a, k, units)
		if err != nil {
			return Seeding{}, err
		}
		done.Applied = done.Applied || added
	}
	s, err = l.readOpenSale(ctx, a.SaleID)
	done.Seeded = s.Seeded
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
// seed id. So if both are asked for at once under one id, the later one is refused. A function
// of a release before this one looks for neither, so that is not promised while releases are
// mixed.
func (l *Ledger) announceSeeding(ctx context.Context, s sale.Sale, c sale.Change) error {
	c.At = l.now()
	for left := l.upTo(patientTries); ; {
		switch {
		case s.IsSealed():
			return sale.RefuseSealed()
		case c.Action == sale.ActionAdd && s.IsRecalled():
			return sale.RefuseRecalled()
		}
		edit, whole, err := l.changeOf(ctx, s, c.ID)
		switch {
		case err != nil:
			return err
		case edit != nil:
			return errOtherChange
		case whole:
		case !left.again(ctx):
			return errHalf
		default:
			if s, err = l.readOpenSale(ctx, s.ID); err != nil {
				return err
			}
			continue
		}
		reasons, err := l.retryTransaction(ctx, l.put(seedingItem(s, c)), l.unedited(s, c))
		switch {
		case reasons == nil:
			return asInternal(err)
		case failed(reasons[0]):
			return sameSeeding(reasons[0].Item, c)
		}
		now, readErr := readSale(reasons[1].Item)
		switch {
		case readErr != nil:
			return asInternal(readErr)
		case now.Edits == s.Edits && c.Action == sale.ActionWithdraw:
			return errCalled
		case now.Edits == s.Edits:
			return refuseRoom(reasons[1].Item)
		case !left.again(ctx):
			return sale.Fail(sale.Busy, err)
		}
		s = now
	}
}

// errOtherChange: an id of a change of the sale was used for another one.
var errOtherChange = sale.Refuse(sale.Conflicting, "the change id was used for another change")

// unedited requires that the sale has had no edit since s was read. For an addition in a sale
// with a maxStock it also takes the room, and for a withdrawal from one with a draw it requires
// that nobody has been called.
func (l *Ledger) unedited(s sale.Sale, c sale.Change) types.TransactWriteItem {
	condition, names, values := "attribute_not_exists(#edits)", map[string]string{"#edits": "edits"}, item{}
	if s.Edits > 0 {
		condition, values[":edits"] = "#edits = :edits", num(s.Edits)
	}
	if s.Limited && c.Action == sale.ActionAdd {
		condition, names["#room"], values[":u"] = condition+" AND #room >= :u", "room", num(c.Units)
		return types.TransactWriteItem{Update: &types.Update{
			TableName: l.table, Key: saleKey(s.ID), UpdateExpression: aws.String("SET #room = #room - :u"), ConditionExpression: &condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}}
	}
	if s.HasDraw() && c.Action == sale.ActionWithdraw {
		condition, names["#call"] = condition+" AND "+ifUncalled, "call"
	}
	if len(values) == 0 {
		values = nil // DynamoDB refuses an empty map
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: l.table, Key: saleKey(s.ID), ConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// refuseRoom says for how many units there is room in the stored sale.
func refuseRoom(stored item) error {
	r := reader{item: stored}
	room := r.number("room")
	if r.err != nil {
		return asInternal(r.err)
	}
	return sale.Refusef(sale.Conflicting, "the sale's maxStock leaves room for %d more units", room)
}

// sameSeeding refuses a seed id whose stored request is another one than c.
func sameSeeding(stored item, c sale.Change) error {
	before, err := readSeeding(stored)
	switch {
	case err != nil:
		return asInternal(err)
	case before.Action != c.Action || before.Units != c.Units:
		return sale.Refuse(sale.Conflicting, "the seedId was used before with another action or stock")
	}
	return nil
}

// receipts returns the items of a sale whose sort key begins with head. With them a
// repeat costs one read instead of a cancelled transaction per shard.
func (l *Ledger) receipts(ctx context.Context, saleID, head string) (map[identity]item, error) {
	items, err := l.queryAll(ctx, patientTries, dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("#pk = :pk AND begins_with(#sk, :head)"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK, "#sk": attrSK},
		ExpressionAttributeValues: item{":pk": saleKey(saleID)[attrPK], ":head": str(head)},
	})
	if err != nil {
		return nil, err
	}
	found := map[identity]item{}
	for _, it := range items {
		found[identityOf(it)] = it
	}
	return found, nil
}

// addToShard adds units to one shard, and reports whether this call did.
func (l *Ledger) addToShard(ctx context.Context, a sale.Addition, k int, units int64) (bool, error) {
	receipt := with(seedShardKey(a.SaleID, a.SeedID, k), item{"units": num(units), "at": millis(l.now())})
	reasons, err := l.retryTransaction(ctx,
		l.put(receipt),
		types.TransactWriteItem{Update: &types.Update{
			TableName:                 l.table,
			Key:                       stockKey(a.SaleID, k),
			UpdateExpression:          aws.String("SET #stock = #stock + :u, #seeded = #seeded + :u"),
			ConditionExpression:       aws.String("attribute_exists(pk)"),
			ExpressionAttributeNames:  map[string]string{"#stock": "stock", "#seeded": "seeded"},
			ExpressionAttributeValues: item{":u": num(units)},
		}},
		types.TransactWriteItem{Update: &types.Update{
			TableName:           l.table,
			Key:                 saleKey(a.SaleID),
			UpdateExpression:    aws.String("SET #seeded = #seeded + :u, #version = #version + :one DELETE #empty :k"),
			ConditionExpression: aws.String("#state = :open"),
			ExpressionAttributeNames: map[string]string{
				"#seeded": "seeded", "#version": "version", "#empty": "empty", "#state": "state",
			},
			ExpressionAttributeValues: item{
				":u": num(units), ":one": num(1), ":k": numberSet(k), ":open": str(string(sale.Open)),
			},
		}},
		l.undrain(a.SaleID),
	)
	switch {
	case reasons != nil && failed(reasons[0]):
		return false, nil // its receipt exists: applied before
	case reasons != nil && isSealed(reasons[3]):
		return false, sale.RefuseSealed()
	}
	return err == nil, asInternal(err)
}

// undrain puts a sale back on the list of sales to reconcile, unless it was sealed.
func (l *Ledger) undrain(saleID string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                           l.table,
		Key:                                 listingKey(saleID),
		UpdateExpression:                    aws.String("REMOVE #drained"),
		ConditionExpression:                 &ifNotSealed,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ExpressionAttributeNames:            map[string]string{"#drained": "drained", "#sealedAt": "sealedAt"},
	}}
}
