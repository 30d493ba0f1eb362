package maintenance

import (
	"cmp"
	"context"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Creation returns what creates another sale like one that exists, as that stands: with the units, the window and the
// texts that it has after all changes. It fails with sale.SaleNotFound, also for a draft, sale.Busy,
// sale.NewerVersion or sale.Internal.
func (m *Maintenance) Creation(ctx context.Context, saleID string) (c sale.Creation, err error) {
	it, err := m.table.Get(ctx, table.SaleKey(saleID))
	if err != nil {
		return c, err
	}
	if it == nil {
		return c, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	s, err := table.ReadSale(it)
	r := table.Read(it)
	room := r.OptionalNumber("room")
	switch {
	case err != nil || r.Err != nil:
		return c, sale.AsInternal(cmp.Or(err, r.Err))
	case s.State != sale.Open:
		return c, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	c = sale.Creation{
		SaleID: s.ID, Name: s.Name, OpensAt: s.Begins(), ClosesAt: s.Ends(), Stock: s.Seeded, Shards: s.Shards,
		PayWithin: s.PayWithin, LateFor: s.LateFor, Price: s.Price, Currency: s.Currency, Extras: s.Extras,
		MaxPerOrder: s.MaxPerOrder, Labels: s.Labels,
		Presentation: s.Presentation, LimitGroup: s.LimitGroup, DrawTerms: s.DrawTerms,
	}
	if s.Limited {
		c.MaxStock = s.Seeded + room
	}
	return c, nil
}
