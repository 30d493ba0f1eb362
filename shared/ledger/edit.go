package ledger

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Edit pauses, resumes or reschedules a sale: the sale item first, if the edit
// is newer than the last one, then every shard; it returns after the last, so
// when a pause is answered no unit leaves any shard any more (P14). e must have
// passed Check.
//
// Each shard is given the whole of window and pause flag as the newest edit
// left them, not this edit's part only: otherwise an edit cut off half-way and
// overtaken by another would leave its trace in some shards and not in others.
//
// The same edit again drives the shards anew; an older one changes nothing. It
// fails with sale.SaleNotFound (a draft included), with sale.Conflicting when
// another edit has the same instant, with sale.Busy or sale.Internal.
func (l *Ledger) Edit(ctx context.Context, e sale.Edit) (Seeding, error) {
	before, err := l.reread(ctx, e.SaleID)
	if err != nil {
		return Seeding{}, err
	}
	done := Seeding{SaleID: e.SaleID, Seeded: before.Seeded, Shards: before.Shards}
	if done.Applied, err = l.editSale(ctx, e); err != nil {
		return Seeding{}, err
	}
	after, err := l.reread(ctx, e.SaleID)
	if err != nil {
		return Seeding{}, err
	}
	done.Seeded = after.Seeded
	if after.ChangedAt.UnixMilli() == e.At.UnixMilli() && !agrees(after, e) {
		return Seeding{}, sale.Refuse(sale.Conflicting, "another edit was made for the same instant")
	}
	errs := make([]error, after.Shards)
	each(after.Shards, func(k int) { errs[k] = l.editShard(ctx, after, k) })
	return done, foreign(worst(errs))
}

// agrees reports whether the sale is as the edit wants it.
func agrees(s sale.Sale, e sale.Edit) bool {
	if e.Paused != nil && s.Paused != *e.Paused {
		return false
	}
	return !e.Reschedules() ||
		s.OpensAt.UnixMilli() == e.OpensAt.UnixMilli() && s.ClosesAt.UnixMilli() == e.ClosesAt.UnixMilli()
}

// editSale writes the edit into the sale item, and reports whether it was newer
// than what was there. A rescheduling moves the listing along.
func (l *Ledger) editSale(ctx context.Context, e sale.Edit) (bool, error) {
	set := "SET #changedAt = :at, #version = #version + :one"
	names := map[string]string{"#changedAt": "changedAt", "#version": "version", "#state": "state"}
	values := item{":at": millis(e.At), ":one": num(1), ":open": str(string(sale.Open))}
	if e.Paused != nil {
		set += ", #paused = :paused"
		names["#paused"], values[":paused"] = "paused", boolean(*e.Paused)
	}
	actions := make([]types.TransactWriteItem, 1, 2)
	if e.Reschedules() {
		set += ", #opensAt = :opensAt, #closesAt = :closesAt"
		names["#opensAt"], values[":opensAt"] = "opensAt", millis(e.OpensAt)
		names["#closesAt"], values[":closesAt"] = "closesAt", millis(e.ClosesAt)
		actions = append(actions, types.TransactWriteItem{Update: &types.Update{
			TableName:                 l.table,
			Key:                       listingKey(e.SaleID),
			UpdateExpression:          aws.String("SET #closesAt = :closesAt REMOVE #drained"),
			ConditionExpression:       aws.String("attribute_exists(pk)"),
			ExpressionAttributeNames:  map[string]string{"#closesAt": "closesAt", "#drained": "drained"},
			ExpressionAttributeValues: item{":closesAt": millis(e.ClosesAt)},
		}})
	}
	actions[0] = types.TransactWriteItem{Update: &types.Update{
		TableName:                 l.table,
		Key:                       saleKey(e.SaleID),
		UpdateExpression:          &set,
		ConditionExpression:       aws.String("#state = :open AND #changedAt < :at"),
		ExpressionAttributeNames:  names,
		ExpressionAttributeValues: values,
	}}
	err := l.retryTransaction(ctx, actions...)
	if judge(err) != cancelled {
		return err == nil, foreign(err)
	}
	reasons, readErr := reasonsOf(err, len(actions))
	if readErr != nil {
		return false, foreign(readErr)
	}
	if aws.ToString(reasons[0].Code) == reasonCondition {
		return false, nil
	}
	return false, foreign(err)
}

// editShard brings one shard to the window and pause flag of the sale, unless a
// newer edit has been there.
func (l *Ledger) editShard(ctx context.Context, s sale.Sale, k int) error {
	err := l.retry(ctx, patientTries, func(ctx context.Context) error {
		_, err := l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: l.table,
			Key:       stockKey(s.ID, k),
			UpdateExpression: aws.String(
				"SET #opensAt = :opensAt, #closesAt = :closesAt, #paused = :paused, #changedAt = :at"),
			ConditionExpression: aws.String("#changedAt < :at"),
			ExpressionAttributeNames: map[string]string{
				"#opensAt": "opensAt", "#closesAt": "closesAt", "#paused": "paused", "#changedAt": "changedAt",
			},
			ExpressionAttributeValues: item{
				":opensAt": millis(s.OpensAt), ":closesAt": millis(s.ClosesAt),
				":paused": boolean(s.Paused), ":at": millis(s.ChangedAt),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return foreign(err)
	}
	if failed.Item == nil {
		return foreign(errors.New("the shard does not exist"))
	}
	return nil
}
