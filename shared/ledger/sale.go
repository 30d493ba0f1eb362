package ledger

import (
	"context"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// existing returns a snapshot of a sale that exists, of any age: its buckets
// and shards never change. It fails with sale.SaleNotFound, sale.Busy or
// sale.Internal.
func (l *Ledger) existing(ctx context.Context, tries int, saleID string) (sale.Sale, error) {
	if s := l.views.of(saleID).load(l.now()); s.isOpen() {
		return s.sale, nil
	}
	return l.saleWithin(ctx, tries, saleID)
}

// Existing returns a sale that exists, as it was at some time: only what never changes may
// be read of it. It fails with sale.SaleNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Existing(ctx context.Context, saleID string) (sale.Sale, error) {
	return l.existing(ctx, table.MaxTries, saleID)
}

// Sale returns the sale as it was at most 1.65 seconds ago. It fails with
// sale.SaleNotFound (a draft counts as not found), sale.Busy or sale.Internal.
func (l *Ledger) Sale(ctx context.Context, saleID string) (sale.Sale, error) {
	return l.saleWithin(ctx, table.MaxTries, saleID)
}

// Latest returns the sale as it is now, or fails as Sale does.
func (l *Ledger) Latest(ctx context.Context, saleID string) (sale.Sale, error) {
	if err := l.readConsistently(ctx, table.MaxTries, l.views.of(saleID), saleID); err != nil {
		return sale.Sale{}, err
	}
	return l.Sale(ctx, saleID)
}

func (l *Ledger) saleWithin(ctx context.Context, tries int, saleID string) (sale.Sale, error) {
	v := l.views.of(saleID)
	s := v.load(l.now())
	if !s.fresh || !s.certain {
		if err := l.readConsistently(ctx, tries, v, saleID); err != nil {
			return sale.Sale{}, err
		}
		s = v.load(l.now())
	}
	if !s.isOpen() {
		return sale.Sale{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	return s.sale, nil
}

// isOpen reports whether the sale exists and is no draft.
func (s *snapshot) isOpen() bool { return s.found && s.sale.State == sale.Open }
