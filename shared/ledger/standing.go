package ledger

import (
	"context"
	"slices"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Standing is how a sale stands, as its operators see it.
type Standing struct {
	// Listing's Err is also why the sale itself cannot be read.
	Listing
	// Sale may be a draft. It says nothing if Err is not nil.
	Sale sale.Sale
}

// Standings returns every sale, without the drained ones unless they are asked for, in the
// order of their ids. It fails with sale.Busy or sale.Internal.
func (l *Ledger) Standings(ctx context.Context, drained bool) ([]Standing, error) {
	query := table.Partition(table.ListingKey("")[table.PK])
	if !drained {
		query = table.Filtered(table.ListingKey("")[table.PK], "attribute_not_exists(#drained)", nil)
	}
	listings, err := l.table.QueryAll(ctx, table.PatientTries, query)
	if err != nil {
		return nil, err
	}
	keys := make([]table.Item, len(listings))
	for i, it := range listings {
		keys[i] = table.SaleKey(table.IdentityOf(it).SK)
	}
	stored, err := l.table.GetAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	all := make([]Standing, len(listings))
	for i, it := range listings {
		all[i] = readStanding(it, stored[table.IdentityOf(table.SaleKey(table.IdentityOf(it).SK))])
	}
	return all, nil
}

// GroupStandings returns the sales of a group, the drained ones and drafts, too, in the order of their ids. It fails
// with sale.GroupNotFound, sale.Busy or sale.Internal.
func (l *Ledger) GroupStandings(ctx context.Context, group string) ([]Standing, error) {
	ids, err := l.salesOf(ctx, group)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, sale.Refuse(sale.GroupNotFound, "no such group")
	}
	var keys []table.Item
	for _, id := range ids {
		keys = append(keys, table.ListingKey(id), table.SaleKey(id))
	}
	stored, err := l.table.GetAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	var all []Standing
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if listing := stored[table.IdentityOf(table.ListingKey(id))]; listing != nil {
			all = append(all, readStanding(listing, stored[table.IdentityOf(table.SaleKey(id))]))
		}
	}
	return all, nil
}

// Standing returns one sale, drained or not, and the units in its shards; those of a draft are
// not counted. It fails with sale.SaleNotFound, sale.Busy, sale.NewerVersion or sale.Internal.
func (l *Ledger) Standing(ctx context.Context, saleID string) (one Standing, units int64, err error) {
	stored, err := l.table.GetAll(ctx, []table.Item{table.ListingKey(saleID), table.SaleKey(saleID)})
	if err != nil {
		return Standing{}, 0, err
	}
	listing := stored[table.IdentityOf(table.ListingKey(saleID))]
	if listing == nil {
		return Standing{}, 0, sale.Refuse(sale.SaleNotFound, "no such sale")
	}
	one = readStanding(listing, stored[table.IdentityOf(table.SaleKey(saleID))])
	if one.Err != nil || one.Sale.State != sale.Open {
		return one, 0, one.Err
	}
	shards, err := l.table.Shards(ctx, one.Sale)
	for _, s := range shards {
		units += s.Stock
	}
	return one, units, err
}

func readStanding(listing, stored table.Item) Standing {
	one := Standing{Listing: readListing(listing)}
	var err error
	if one.Sale, err = table.ReadSale(stored); one.Err == nil {
		one.Err = sale.AsInternal(err)
	}
	return one
}
