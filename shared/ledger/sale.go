package ledger

import (
	"context"
	"time"

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
	return l.existing(ctx, maxTries, saleID)
}

// Sale returns the sale as it was at most 1.65 seconds ago. It fails with
// sale.SaleNotFound (a draft counts as not found), sale.Busy or sale.Internal.
func (l *Ledger) Sale(ctx context.Context, saleID string) (sale.Sale, error) {
	return l.saleWithin(ctx, maxTries, saleID)
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

// DraftError is the cause of a sale.SaleNotFound whose sale is still being created.
type DraftError struct{ OpensAt, ClosesAt time.Time }

func (e *DraftError) Error() string { return "a draft that opens at " + e.OpensAt.Format(time.RFC3339) }

// readOpenSale reads the sale from the table and not from a snapshot. A draft
// counts as not found.
func (l *Ledger) readOpenSale(ctx context.Context, saleID string) (sale.Sale, error) {
	it, err := l.getWithin(ctx, patientTries, saleKey(saleID))
	if err != nil {
		return sale.Sale{}, err
	}
	if it == nil {
		return sale.Sale{}, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	s, err := readSale(it)
	if err != nil {
		return sale.Sale{}, asInternal(err)
	}
	if s.State != sale.Open {
		return sale.Sale{}, &sale.Error{
			Code: sale.SaleNotFound, Detail: "the sale is still being created", Err: &DraftError{OpensAt: s.OpensAt, ClosesAt: s.ClosesAt},
		}
	}
	return s, nil
}
