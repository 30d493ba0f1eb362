package maintenance

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// sealing is a sale to seal.
type sealing struct {
	ledger.Listing
	reader int // that it needs then
}

// mayBeSealed returns the sales to seal with a sale: itself and those of its group. It
// fails with sale.Conflicting, which names the sale, if one of them is not drained, or has a refund that is due or
// held back by a dispute.
func (m *Maintenance) mayBeSealed(ctx context.Context, s sale.Sale) (sales []sealing, err error) {
	ids := []string{s.ID}
	if s.LimitGroup != "" {
		it, err := m.table.GetWithin(ctx, table.PatientTries, table.GroupKey(s.LimitGroup))
		if err != nil {
			return nil, err
		}
		r := table.Read(it)
		if ids = r.OptionalTexts("sales"); r.Err != nil || !slices.Contains(ids, s.ID) {
			return nil, sale.AsInternal(errors.Join(r.Err, errors.New("the group does not name its sale")))
		}
	}
	for _, id := range ids {
		listing, err := m.ledger.Listing(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case !listing.Drained:
			return nil, refuseUndrained(id)
		}
		count := ledger.RefundCount{SaleID: id}
		if err := m.ledger.CountRefunds(ctx, &count); err != nil {
			return nil, err
		}
		if count.Due > 0 {
			return nil, sale.Refusef(sale.Conflicting,
				"%d refunds of the sale %s are due: refund and mark them first", count.Due, id)
		}
		if count.HeldBack > 0 {
			return nil, sale.Refusef(sale.Conflicting,
				"%d refunds of the sale %s are held back by disputes: wait for those first", count.HeldBack, id)
		}
		it, err := m.table.GetWithin(ctx, table.PatientTries, table.SaleKey(id))
		if err != nil {
			return nil, err
		}
		one, err := table.ReadSale(it)
		if err != nil {
			return nil, sale.AsInternal(err)
		}
		sales = append(sales, sealing{listing, max(one.MinReader, sale.ReadsSealed)})
	}
	return sales, nil
}

func refuseUndrained(saleID string) error {
	return sale.Refusef(sale.Conflicting,
		"the sale %s is not drained: only what is over, and audited, can be sealed", saleID)
}

// seal is what else a seal writes into the item of its sale, and on which condition.
type seal struct {
	sale             sale.Sale
	with             []sealing // see mayBeSealed
	write, condition string
	values           table.Item
}

// actions seal the sales and their group, all or none, together with what they are sealed for: up to
// 61 of the actions of a transaction. The same again only sets the instant. What passes have noted in
// the listings may name users, and goes; nothing is noted in a sealed listing any more.
func (s *seal) actions(m *Maintenance) (actions []types.TransactWriteItem) {
	now := table.Millis(m.table.Now())
	update := func(key table.Item, expression, condition string, values table.Item) {
		values[":now"] = now
		actions = append(actions, m.table.Action(table.Update{
			Key: key, Expr: "SET #sealedAt = :now" + expression, If: condition, Values: values,
		}))
	}
	for _, one := range s.with {
		expression := " REMOVE #cursor, #releasing"
		if one.Books != nil && len(one.Books.Findings) > 0 {
			expression += ", #books"
		}
		update(table.ListingKey(one.SaleID), expression, "attribute_exists(#drained)", table.Item{})
	}
	if g := s.sale.LimitGroup; g != "" {
		ids := make([]string, len(s.with))
		for i, one := range s.with {
			ids[i] = one.SaleID
		}
		update(table.GroupKey(g), "", "#sales = :sales", table.Item{":sales": table.SS(ids...)})
	}
	for _, one := range s.with {
		expression, condition, values := ", #minReader = :reader", "", table.Item{":reader": table.N(int64(one.reader))}
		if one.SaleID == s.sale.ID {
			expression, condition = expression+s.write, s.condition
			maps.Copy(values, s.values)
		}
		update(table.SaleKey(one.SaleID), expression, condition, values)
	}
	return actions
}

// refused is why the seal was refused, by the reasons of its actions and of those after them; nil
// if it was not.
func (s *seal) refused(reasons []types.CancellationReason) error {
	for i, one := range s.with {
		if table.Failed(reasons[i]) {
			return refuseUndrained(one.SaleID)
		}
	}
	n := 2 * len(s.with)
	if s.sale.LimitGroup != "" {
		n++
	}
	if slices.ContainsFunc(reasons[len(s.with):n], table.Failed) {
		return sale.Fail(sale.Busy, errors.New("the sale has changed, or another one has joined its group, meanwhile"))
	}
	return nil
}
