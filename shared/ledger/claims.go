package ledger

import (
	"cmp"
	"context"
	"fmt"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Claim returns the user's claim in a sale. It fails with sale.OrderNotFound,
// sale.SaleNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Claim(ctx context.Context, saleID, user string) (sale.Claim, error) {
	s, err := l.existing(ctx, table.MaxTries, saleID)
	if err != nil {
		return sale.Claim{}, err
	}
	return l.claim(ctx, s, user)
}

// Claims passes a sale's claims to report, a page at a time, with their sale. A page is
// read when the one before it has been reported, so the memory does not grow with the sale. It
// fails with sale.SaleNotFound, sale.Busy or report's error; and in the end with
// sale.NewerVersion or sale.Internal if there are claims that cannot be read.
func (l *Ledger) Claims(ctx context.Context, saleID string, report func(sale.Sale, []sale.Claim) error) error {
	s, err := l.existing(ctx, table.PatientTries, saleID)
	if err != nil {
		return err
	}
	if s.Archive != "" {
		return s.RefuseArchived()
	}
	var unreadable error // the first one's
	err = l.table.ClaimItems(ctx, s, func(items []table.Item) error {
		claims := make([]sale.Claim, 0, len(items))
		for _, it := range items {
			c, err := table.ReadClaim(saleID, s.Buckets, it)
			if err != nil {
				unreadable = cmp.Or(unreadable, fmt.Errorf("%v: %w", table.IdentityOf(it), err))
				continue
			}
			claims = append(claims, c)
		}
		return report(s, claims)
	})
	return cmp.Or(err, sale.AsInternal(unreadable))
}

func (l *Ledger) claim(ctx context.Context, s sale.Sale, user string) (sale.Claim, error) {
	return l.claimIn(ctx, s.ID, s.Buckets, user)
}

func (l *Ledger) claimIn(ctx context.Context, saleID string, buckets int, user string) (sale.Claim, error) {
	it, err := l.table.Get(ctx, table.ClaimKey(saleID, sale.BucketOf(user, buckets), user))
	if err != nil {
		return sale.Claim{}, err
	}
	if it == nil {
		return sale.Claim{}, sale.Refuse(sale.OrderNotFound, "the user has no order in this sale")
	}
	c, err := table.ReadClaim(saleID, buckets, it)
	return c, sale.AsInternal(err)
}

// Order returns an order by its id. It fails with sale.OrderNotFound,
// sale.Busy or sale.Internal.
func (l *Ledger) Order(ctx context.Context, id uint64) (sale.Order, error) {
	it, err := l.table.Get(ctx, table.OrderKey(id))
	if err != nil {
		return sale.Order{}, err
	}
	if it == nil {
		return sale.Order{}, sale.Refuse(sale.OrderNotFound, "no such order")
	}
	o, err := table.ReadOrder(it)
	return o, sale.AsInternal(err)
}
