package ledger

import (
	"context"
	"strings"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// Describe corrects what buyers read about a sale. It raises the version, so that every
// environment shows it when it next looks at the sale. What the creation asked for stays,
// so its repeat is the same as before. d must have passed Check.
//
// It fails with sale.ChangedMeanwhile as Edit does, with sale.Conflicting if the ChangeID is another change's, with
// sale.SaleNotFound (for a draft, too), sale.Busy or sale.Internal.
func (l *Ledger) Describe(ctx context.Context, d sale.Description) (Edited, error) {
	return l.edit(ctx, edit{
		saleID: d.SaleID, asks: d.Change(), seen: d.ReadVersion, counts: ", #described :one",
		set:  func(after sale.Sale) (string, table.Item) { return description(d, after) },
		next: func(before sale.Sale) (sale.Sale, error) { return d.Apply(before), nil },
	})
}

// description sets or removes the fields that are given.
func description(d sale.Description, after sale.Sale) (string, table.Item) {
	set, remove, values := "", "", table.Item{}
	for _, field := range []struct {
		name  string
		given *string
		value string
	}{
		{"name", d.Name, after.Name}, {"image", d.Image, after.Image},
		{"about", d.About, after.About}, {"link", d.Link, after.Link},
	} {
		switch {
		case field.given == nil:
			continue
		case field.value == "":
			remove += ", #" + field.name
		default:
			set += ", #" + field.name + " = :" + field.name
			values[":"+field.name] = table.S(field.value)
		}
	}
	update := ""
	if set != "" {
		update = "SET " + strings.TrimPrefix(set, ", ")
	}
	if remove != "" {
		update += " REMOVE " + strings.TrimPrefix(remove, ", ")
	}
	return update, values
}
