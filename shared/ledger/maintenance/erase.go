package maintenance

import (
	"context"
	"errors"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Erasable returns what the table holds of a user, if all of it may be erased: the sales and those
// of their groups are drained, and no refund of them is due. Otherwise it fails with
// sale.Conflicting, which names a sale and why; or as Person does.
func (m *Maintenance) Erasable(ctx context.Context, user string) (held []Held, err error) {
	if sale.IsErased(user) {
		return nil, sale.Refuse(sale.Conflicting, "this is the id of an erased user")
	}
	_, err = m.Person(ctx, user, func(h Held) error {
		held = append(held, h)
		return nil
	})
	for i := 0; i < len(held) && err == nil; i++ {
		err = m.mayBeErased(ctx, &held[i])
	}
	return held, err
}

// mayBeErased finds what must be sealed before what a sale holds of a user is erased, or why it may
// not be.
func (m *Maintenance) mayBeErased(ctx context.Context, h *Held) (err error) {
	if h.Sale.Archive != "" {
		return sale.Refusef(sale.Conflicting,
			"the sale %s is being archived: finish that first, with the same file", h.Sale.ID)
	}
	if c := h.Claim; c != nil && len(c.Refunds) >= ledger.MaxClaimRefunds {
		return sale.Refusef(sale.Conflicting,
			"the order in the sale %s has %d payments to refund: its claim may not note all of them", h.Sale.ID, len(c.Refunds))
	}
	h.sealing, err = m.mayBeSealed(ctx, h.Sale)
	return err
}

// Erase puts a random id in the user's place, in every sale, and deletes the notes of those who have
// cancelled the user's orders, and the user's entries in draws, whose hashes stay on the rolls. It seals each sale,
// with its group, as it erases the user from it; report gets each sale that is done. The same again, after it was cut
// off anywhere, erases what is left. It fails as Erasable does, before it erases anything, and then nothing is sealed;
// if a sale is changed meanwhile, what was reported before is done.
func (m *Maintenance) Erase(ctx context.Context, user string, report func(Held)) error {
	held, err := m.Erasable(ctx, user)
	if err != nil {
		return err
	}
	for _, h := range held {
		if err := m.eraseIn(ctx, user, h); err != nil {
			return err
		}
		report(h)
	}
	return nil
}

// eraseIn seals a sale and erases a user from it, in one transaction. If a payment or another call
// comes in between, it begins again from what the table has then.
func (m *Maintenance) eraseIn(ctx context.Context, user string, h Held) error {
	// The sale counts the erasure, so that a recount knows how many hashes on a roll are of nobody.
	s := seal{
		sale: h.Sale, with: h.sealing, write: " ADD #erased :one", values: table.Item{":one": table.One},
		// An edit may raise minReader.
		condition: "attribute_not_exists(#archive) AND (attribute_not_exists(#minReader) OR #minReader <= :reader)",
	}
	for left := m.table.UpTo(table.PatientTries); ; {
		reasons, err := m.table.RetryTransaction(ctx,
			append(s.actions(m), m.eraseActions(h, user, sale.ErasedPrefix+m.table.NewID())...)...)
		if reasons == nil {
			return sale.AsInternal(err)
		}
		if err := s.refused(reasons); err != nil {
			return err
		}
		if h, err = m.heldIn(ctx, h.Sale.ID, user); err != nil || h.isEmpty() {
			return err
		}
		if err := m.mayBeErased(ctx, &h); err != nil {
			return err
		}
		if !left.Again(ctx) {
			return sale.Fail(sale.Busy, errors.New("the claim changes all the time"))
		}
	}
}

// eraseActions move the user's claim to the bucket of the new id, and their guard and name with it, or
// delete the user's entry. They require that what they erase is there, and the claim as it was read: in a
// drained sale only a report of its provider or an operator can change it.
func (m *Maintenance) eraseActions(h Held, user, erased string) (actions []types.TransactWriteItem) {
	rename := func(key table.Item) types.TransactWriteItem {
		return m.table.Action(table.Update{
			Key: key, Expr: "SET #user = :erased", Values: table.Item{":erased": table.S(erased)},
		})
	}
	move := func(from, to table.Item) types.TransactWriteItem {
		moved := table.With(maps.Clone(from), to)
		delete(moved, "requestKey") // the buyer chose it
		return types.TransactWriteItem{Put: &types.Put{TableName: m.table.Name, Item: moved}}
	}
	take := func(key table.Item) types.TransactWriteItem { return m.table.Delete(key, "attribute_exists(pk)", nil) }
	if h.claim != nil {
		actions = append(actions, m.deleteClaim(h),
			move(h.claim, table.ClaimKey(h.Sale.ID, sale.BucketOf(erased, h.Sale.Buckets), erased)))
	}
	if h.order != nil {
		actions = append(actions, rename(table.OrderKey(h.Order.ID)))
	}
	if h.Cancelled != nil { // whose note is about the user, and may name them
		actions = append(actions, m.table.Action(table.Update{
			Key: table.CancelledKey(h.Sale.ID, h.Cancelled.OrderID), Expr: "REMOVE #note",
		}))
	}
	if h.Guarded {
		group := h.Sale.LimitGroup
		actions = append(actions, take(table.GroupGuardKey(group, user)), move(h.guard, table.GroupGuardKey(group, erased)))
	}
	if h.entry != nil {
		actions = append(actions, take(table.KeyOf(h.entry)))
	}
	for _, refund := range h.Refunds {
		u := table.Update{Key: table.RefundKey(h.Sale.ID, refund.Payment), Expr: "SET", Values: table.Item{}}
		if refund.Sent.Words != "" {
			u = table.ForgetWords(u.Key, refund.Sent)
			u.Expr += ","
		}
		u.Expr, u.Values[":erased"] = u.Expr+" #user = :erased REMOVE #unmarkNote", table.S(erased)
		actions = append(actions, m.table.Action(u))
	}
	return actions
}

// deleteClaim deletes the claim if it is as it was read: it may be paid, paid back, or cancelled and the sale
// drained again, and its refunds may become more.
func (m *Maintenance) deleteClaim(h Held) types.TransactWriteItem {
	condition, values := "#claimId = :claimId", table.Item{":claimId": table.S(h.Claim.ID)}
	if h.Claim.MayBeReleased() {
		condition += " AND " + table.IfNotFinal
	}
	returned, was := table.IfMoney(h.Claim.Returned)
	maps.Copy(values, was)
	noting, noted := ifNotes(len(h.Claim.Refunds))
	maps.Copy(values, noted)
	return m.table.Delete(table.KeyOf(h.claim), condition+" AND "+returned+" AND "+noting, values)
}

// ifNotes is the condition that a claim notes that many refunds, with its values.
func ifNotes(refunds int) (condition string, values table.Item) {
	if refunds == 0 {
		return "attribute_not_exists(#refunds)", nil
	}
	return "size(#refunds) = :refunds", table.Item{":refunds": table.N(int64(refunds))}
}
