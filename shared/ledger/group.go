package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// groupAge is how long an environment remembers which sales a group has, or that there is no
// such group.
const groupAge = 2 * time.Second

// Member is a sale of a group, as Sale and Remaining return it.
type Member struct {
	Sale      sale.Sale
	Remaining Remaining
}

// Group returns the sales of a group in the order of their ids, without drafts. It fails with
// sale.GroupNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Group(ctx context.Context, group string) ([]Member, error) {
	sales, err := l.Sales(ctx, group)
	if err != nil {
		return nil, err
	}
	members := make([]Member, len(sales))
	if err := table.EachOf("sale", len(sales), func(i int) (err error) {
		members[i].Sale = sales[i]
		members[i].Remaining, err = l.Remaining(ctx, sales[i])
		return err
	}); err != nil {
		return nil, err
	}
	return members, nil
}

// Sales returns the sales of a group as Group does, without what is left of them.
func (l *Ledger) Sales(ctx context.Context, group string) ([]sale.Sale, error) {
	ids, err := l.salesOf(ctx, group)
	if err != nil {
		return nil, err
	}
	sales := make([]sale.Sale, len(ids))
	if err := table.EachOf("sale", len(ids), func(i int) (err error) {
		if sales[i], err = l.Sale(ctx, ids[i]); sale.CodeOf(err) == sale.SaleNotFound { // a draft
			return nil
		}
		return err
	}); err != nil {
		return nil, err
	}
	sales = slices.DeleteFunc(sales, func(s sale.Sale) bool { return s.ID == "" })
	if len(sales) == 0 {
		return nil, sale.Refuse(sale.GroupNotFound, "no such group")
	}
	return sales, nil
}

// salesOf returns the ids of a group's sales, none if there is no such group. An environment
// reads a group once in groupAge, because everybody may ask.
func (l *Ledger) salesOf(ctx context.Context, group string) ([]string, error) {
	now := l.now()
	if ids, ok := l.groups.Get(group, now); ok {
		return ids, nil
	}
	it, err := l.table.Get(ctx, table.GroupKey(group))
	if err != nil {
		return nil, err
	}
	r := table.Read(it)
	ids := r.OptionalTexts("sales")
	if r.Err != nil {
		return nil, sale.AsInternal(r.Err)
	}
	l.groups.Put(strings.Clone(group), ids, now, now.Add(groupAge))
	return ids, nil
}

// OrderedIn returns the sale of a group in which the user has ordered; "" for none. It fails with
// sale.Busy or sale.Internal.
func (l *Ledger) OrderedIn(ctx context.Context, group, user string) (saleID string, err error) {
	it, err := l.table.Get(ctx, table.GroupGuardKey(group, user))
	if err != nil || it == nil {
		return "", err
	}
	g, err := table.ReadGroupGuard(it)
	return g.SaleID, sale.AsInternal(err)
}

// joinGroup adds a sale to its group, in the transaction that announces the sale.
func (l *Ledger) joinGroup(group, saleID string) types.TransactWriteItem {
	return l.table.Action(table.Update{
		Key: table.GroupKey(group), Expr: "ADD #sales :sale", ReturnOld: true,
		If:     "attribute_not_exists(#sealedAt) AND (attribute_not_exists(#sales) OR size(#sales) < :most)",
		Values: table.Item{":sale": table.SS(saleID), ":most": table.N(sale.MaxGroup)},
	})
}
