package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// A sale is sealed before anything of it is erased or archived. Without the user's claim and guard
// it would sell to the user again, so it must never sell again: no edit, addition, withdrawal or
// recall, and no new sale in its group. Whatever would take the sale back into reconciliation
// requires that its listing is not sealed; everything else looks at the sale, and is harmless
// if it has looked before.

// ifNotSealed is the condition on a sale's listing of everything that takes the sale back into
// reconciliation, or notes how far a pass came.
var ifNotSealed = "attribute_exists(pk) AND attribute_not_exists(#sealedAt)"

// refusedBySeal is edit.refused of an edit whose first other action requires ifNotSealed.
func refusedBySeal(others []types.CancellationReason) error {
	if isSealed(others[0]) {
		return sale.RefuseSealed()
	}
	return nil
}

// isSealed reports whether an action was refused because its listing, or its group, is sealed.
func isSealed(reason types.CancellationReason) bool {
	return failed(reason) && has(reason.Item, "sealedAt")
}

// mayBeSealed returns the listings of the sales to seal with a sale: itself and those of its group. It
// fails with sale.Conflicting, which names the sale, if one of them is not drained or has a refund due.
func (l *Ledger) mayBeSealed(ctx context.Context, s sale.Sale) (sales []Listing, err error) {
	ids := []string{s.ID}
	if s.LimitGroup != "" {
		it, err := l.getWithin(ctx, patientTries, groupKey(s.LimitGroup))
		if err != nil {
			return nil, err
		}
		r := reading(it)
		if ids = r.optionalTexts("sales"); r.err != nil || !slices.Contains(ids, s.ID) {
			return nil, asInternal(errors.Join(r.err, errors.New("the group does not name its sale")))
		}
	}
	for _, id := range ids {
		listing, err := l.Listing(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case !listing.Drained:
			return nil, refuseUndrained(id)
		}
		count := RefundCount{SaleID: id}
		if err := l.CountRefunds(ctx, &count); err != nil {
			return nil, err
		}
		if count.Due > 0 {
			return nil, sale.Refusef(sale.Conflicting, "%d refunds of the sale %s are due: refund and mark them first", count.Due, id)
		}
		sales = append(sales, listing)
	}
	return sales, nil
}

func refuseUndrained(saleID string) error {
	return sale.Refusef(sale.Conflicting, "the sale %s is not drained: only what is over, and audited, can be sealed", saleID)
}

// seal is what else a seal writes into the item of its sale, and on which condition.
type seal struct {
	sale             sale.Sale
	with             []Listing // the sales to seal, see mayBeSealed
	write, condition string
	names            map[string]string
	values           item
}

// actions seal the sales and their group, all or none, together with what they are sealed for: up to
// 61 of the actions of a transaction. The same again only sets the instant. What passes have noted in
// the listings may name users, and goes; nothing is noted in a sealed listing any more.
func (s *seal) actions(l *Ledger) (actions []types.TransactWriteItem) {
	now := millis(l.now())
	update := func(key item, expression string, condition *string, names map[string]string, values item) {
		names["#sealedAt"], values[":now"] = "sealedAt", now
		actions = append(actions, types.TransactWriteItem{Update: &types.Update{
			TableName: l.table, Key: key, UpdateExpression: aws.String("SET #sealedAt = :now" + expression), ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}})
	}
	for _, one := range s.with {
		expression, names := " REMOVE #cursor, #releasing", map[string]string{"#drained": "drained", "#cursor": "cursor", "#releasing": "releasing"}
		if one.Books != nil && len(one.Books.Findings) > 0 {
			expression, names["#books"] = expression+", #books", "books"
		}
		update(listingKey(one.SaleID), expression, aws.String("attribute_exists(#drained)"), names, item{})
	}
	if g := s.sale.LimitGroup; g != "" {
		ids := make([]string, len(s.with))
		for i, one := range s.with {
			ids[i] = one.SaleID
		}
		update(groupKey(g), "", aws.String("#sales = :sales"), map[string]string{"#sales": "sales"}, item{":sales": &types.AttributeValueMemberSS{Value: ids}})
	}
	for _, one := range s.with {
		expression, names, values := ", #minReader = :reader", map[string]string{"#minReader": attrMinReader}, item{":reader": num(sale.ReadsSealed)}
		if one.SaleID != s.sale.ID {
			update(saleKey(one.SaleID), expression, nil, names, values)
			continue
		}
		maps.Copy(names, s.names)
		maps.Copy(values, s.values)
		update(saleKey(one.SaleID), expression+s.write, &s.condition, names, values)
	}
	return actions
}

// refused is why the seal was refused, by the reasons of its actions and of those after them; nil
// if it was not.
func (s *seal) refused(reasons []types.CancellationReason) error {
	for i, one := range s.with {
		if failed(reasons[i]) {
			return refuseUndrained(one.SaleID)
		}
	}
	n := 2 * len(s.with)
	if s.sale.LimitGroup != "" {
		n++
	}
	if slices.ContainsFunc(reasons[len(s.with):n], failed) {
		return sale.Fail(sale.Busy, errors.New("the sale has changed, or another one has joined its group, meanwhile"))
	}
	return nil
}
