package ledger

import (
	"context"
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Erasable returns what the table holds of a user, if all of it may be erased: the sales and those
// of their groups are drained, and no refund of them is due. Otherwise it fails with
// sale.Conflicting, which names a sale and why; or as Person does.
func (l *Ledger) Erasable(ctx context.Context, user string) (held []Held, err error) {
	if sale.IsErased(user) {
		return nil, sale.Refuse(sale.Conflicting, "this is the id of an erased user")
	}
	_, err = l.Person(ctx, user, func(h Held) error {
		held = append(held, h)
		return nil
	})
	for i := 0; i < len(held) && err == nil; i++ {
		err = l.mayBeErased(ctx, &held[i])
	}
	return held, err
}

// mayBeErased finds what must be sealed before what a sale holds of a user is erased, or why it may
// not be.
func (l *Ledger) mayBeErased(ctx context.Context, h *Held) (err error) {
	if h.Sale.Archive != "" {
		return sale.Refusef(sale.Conflicting, "the sale %s is being archived: finish that first, with the same file", h.Sale.ID)
	}
	if c := h.Claim; c != nil && len(c.Refunds) >= maxClaimRefunds {
		return sale.Refusef(sale.Conflicting, "the order in the sale %s has %d payments to refund: its claim may not note all of them", h.Sale.ID, len(c.Refunds))
	}
	h.sealing, err = l.mayBeSealed(ctx, h.Sale)
	return err
}

// Erase puts a random id in the user's place, in every sale, and deletes the user's entries in
// draws, whose hashes stay on the rolls. It seals each sale, with its group, as it erases the user from it; report
// gets each sale that is done. The same again, after it was cut off anywhere, erases what is left. It
// fails as Erasable does, before it erases anything, and then nothing is sealed; if a sale is changed meanwhile, what
// was reported before is done.
func (l *Ledger) Erase(ctx context.Context, user string, report func(Held)) error {
	held, err := l.Erasable(ctx, user)
	if err != nil {
		return err
	}
	for _, h := range held {
		if err := l.eraseIn(ctx, user, h); err != nil {
			return err
		}
		report(h)
	}
	return nil
}

// eraseIn seals a sale and erases a user from it, in one transaction. If a payment or another call
// comes in between, it begins again from what the table has then.
func (l *Ledger) eraseIn(ctx context.Context, user string, h Held) error {
	// The sale counts the erasure, so that a recount knows how many hashes on a roll are of nobody.
	s := seal{
		sale: h.Sale, with: h.sealing, write: " ADD #erased :one", condition: "attribute_not_exists(#archive)",
		names: map[string]string{"#erased": "erased", "#archive": "archive"}, values: item{":one": num(1)},
	}
	for left := l.upTo(patientTries); ; {
		reasons, err := l.retryTransaction(ctx, append(s.actions(l), l.eraseActions(h, user, sale.ErasedPrefix+l.newID())...)...)
		if reasons == nil {
			return asInternal(err)
		}
		if err := s.refused(reasons); err != nil {
			return err
		}
		if h, err = l.heldIn(ctx, h.Sale.ID, user); err != nil || h.isEmpty() {
			return err
		}
		if err := l.mayBeErased(ctx, &h); err != nil {
			return err
		}
		if !left.again(ctx) {
			return sale.Fail(sale.Busy, errors.New("the claim changes all the time"))
		}
	}
}

// eraseActions move the user's claim to the bucket of the new id, and their guard and name with it, or
// delete the user's entry. They require that what they erase is there, and the claim as it was read: in a
// drained sale only a payment can change it.
func (l *Ledger) eraseActions(h Held, user, erased string) (actions []types.TransactWriteItem) {
	rename := func(key item) types.TransactWriteItem {
		return types.TransactWriteItem{Update: &types.Update{
			TableName: l.table, Key: key, UpdateExpression: aws.String("SET #user = :erased"),
			ExpressionAttributeNames: map[string]string{"#user": "user"}, ExpressionAttributeValues: item{":erased": str(erased)},
		}}
	}
	move := func(from, to item) types.TransactWriteItem {
		moved := with(maps.Clone(from), to)
		delete(moved, "requestKey") // the buyer chose it
		return types.TransactWriteItem{Put: &types.Put{TableName: l.table, Item: moved}}
	}
	take := func(key item) types.TransactWriteItem {
		return types.TransactWriteItem{Delete: &types.Delete{TableName: l.table, Key: key, ConditionExpression: aws.String("attribute_exists(pk)")}}
	}
	if h.claim != nil {
		actions = append(actions, l.deleteClaim(h), move(h.claim, claimKey(h.Sale.ID, sale.BucketOf(erased, h.Sale.Buckets), erased)))
	}
	if h.order != nil {
		actions = append(actions, rename(orderKey(h.Order.ID)))
	}
	if h.Guarded {
		actions = append(actions, take(groupGuardKey(h.Sale.LimitGroup, user)), move(h.guard, groupGuardKey(h.Sale.LimitGroup, erased)))
	}
	if h.entry != nil {
		actions = append(actions, take(keyOf(h.entry)))
	}
	for _, refund := range h.Refunds {
		actions = append(actions, rename(refundKey(h.Sale.ID, refund.Payment)))
	}
	return actions
}

// deleteClaim deletes the claim if it is as it was read: what it does not have may come, and its
// refunds may become more.
func (l *Ledger) deleteClaim(h Held) types.TransactWriteItem {
	condition, names, values := "#claimId = :claimId", map[string]string{"#claimId": "claimId"}, item{":claimId": str(h.Claim.ID)}
	if h.Claim.PaidAt.IsZero() {
		condition, names["#paidAt"] = condition+" AND attribute_not_exists(#paidAt)", "paidAt"
	}
	noting, noted := ifNotes(len(h.Claim.Refunds))
	condition, names["#refunds"] = condition+" AND "+noting, "refunds"
	maps.Copy(values, noted)
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: l.table, Key: keyOf(h.claim), ConditionExpression: aws.String(condition), ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}}
}

// ifNotes is the condition that a claim notes that many refunds, with its values.
func ifNotes(refunds int) (condition string, values item) {
	if refunds == 0 {
		return "attribute_not_exists(#refunds)", nil
	}
	return "size(#refunds) = :refunds", item{":refunds": num(int64(refunds))}
}

func (l *Ledger) remove(key item) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: l.table, Key: key}}
}

func keyOf(it item) item { return item{attrPK: it[attrPK], attrSK: it[attrSK]} }
