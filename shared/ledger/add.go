package ledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Add puts more units into a sale: shard by shard, each in one transaction with
// its receipt, so that the addition applies exactly once per shard however
// often it is repeated or cut off (P15). The same transaction raises the sale's
// version and takes the shard out of the empty set, so the set stays true and a
// sold-out sale sells again. a must have passed Check.
//
// It fails with sale.SaleNotFound (a draft included), with sale.Conflicting
// when the seed id was used with another number of units, with sale.Busy or
// sale.Internal.
func (l *Ledger) Add(ctx context.Context, a sale.Addition) (Seeding, error) {
	s, err := l.readOpenSale(ctx, a.SaleID)
	if err != nil {
		return Seeding{}, err
	}
	if err := l.announceAddition(ctx, a); err != nil {
		return Seeding{}, err
	}
	applied, err := l.appliedShards(ctx, a)
	if err != nil {
		return Seeding{}, err
	}
	done := Seeding{SaleID: a.SaleID, Shards: s.Shards}
	// One shard after the other: all of them touch the sale item, and
	// transactions on one item at once only conflict.
	for k := range s.Shards {
		units := sale.Share(a.Stock, k, s.Shards)
		if units == 0 {
			break
		}
		if applied[seedShardSK(a.SeedID, k)] {
			continue
		}
		new, err := l.addToShard(ctx, a, k, units)
		if err != nil {
			return Seeding{}, err
		}
		done.Applied = done.Applied || new
	}
	s, err = l.readOpenSale(ctx, a.SaleID)
	done.Seeded = s.Seeded
	return done, err
}

func seedShardSK(seedID string, shard int) string {
	return seedShardKey("", seedID, shard)[attrSK].(*types.AttributeValueMemberS).Value
}

// announceAddition stores what the seed id stands for, or finds it stored.
func (l *Ledger) announceAddition(ctx context.Context, a sale.Addition) error {
	reasons, err := l.retryTransaction(ctx, l.put(with(seedKey(a.SaleID, a.SeedID), item{
		"units": num(a.Stock), "at": millis(l.now()),
	})))
	if reasons == nil {
		return asInternal(err)
	}
	r := reader{item: reasons[0].Item}
	units := r.number("units")
	switch {
	case r.err != nil:
		return asInternal(r.err)
	case units != a.Stock:
		return sale.Refuse(sale.Conflicting, "the seedId was used before with another stock")
	}
	return nil
}

// appliedShards returns the sort keys of the receipts that exist already, so
// that a repeat costs a read and not a cancelled transaction per shard.
func (l *Ledger) appliedShards(ctx context.Context, a sale.Addition) (map[string]bool, error) {
	prefix := seedKey(a.SaleID, a.SeedID)
	applied := map[string]bool{}
	var from item
	for {
		var out *dynamodb.QueryOutput
		err := l.retry(ctx, patientTries, func(ctx context.Context) (err error) {
			out, err = l.api.Query(ctx, &dynamodb.QueryInput{
				TableName:                l.table,
				ConsistentRead:           &yes,
				KeyConditionExpression:   aws.String("#pk = :pk AND begins_with(#sk, :receipt)"),
				ProjectionExpression:     aws.String("#sk"),
				ExpressionAttributeNames: map[string]string{"#pk": attrPK, "#sk": attrSK},
				ExpressionAttributeValues: item{
					":pk":      prefix[attrPK],
					":receipt": str(prefix[attrSK].(*types.AttributeValueMemberS).Value + "#"),
				},
				ExclusiveStartKey: from,
			})
			return err
		})
		if err != nil {
			return nil, asInternal(err)
		}
		for _, it := range out.Items {
			r := reader{item: it}
			applied[r.text(attrSK)] = true
		}
		if from = out.LastEvaluatedKey; len(from) == 0 {
			return applied, nil
		}
	}
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
	if reasons != nil && failed(reasons[0]) {
		return false, nil // its receipt is there: applied before
	}
	return err == nil, asInternal(err)
}

// undrain puts a sale back among those that reconciliation looks at.
func (l *Ledger) undrain(saleID string) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                l.table,
		Key:                      listingKey(saleID),
		UpdateExpression:         aws.String("REMOVE #drained"),
		ConditionExpression:      aws.String("attribute_exists(pk)"),
		ExpressionAttributeNames: map[string]string{"#drained": "drained"},
	}}
}
