package ledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// ReserveOrderIDs reserves a block of n order ids in one write. The ids' second and
// their sequence's day come from one instant. A lost answer wastes a block: gaps are
// allowed, duplicates are not.
func (l *Ledger) ReserveOrderIDs(ctx context.Context, n int) ([]uint64, error) {
	if n == 0 {
		return nil, nil
	}
	now := l.now()
	advanced, _, err := l.table.UpdateWithin(ctx, table.PatientTries, table.Update{
		Key: table.SequenceKey(orderid.Day(now)), Expr: "ADD #next :n", Values: table.Item{":n": table.N(int64(n))},
		Return: types.ReturnValueUpdatedNew,
	})
	if err != nil {
		return nil, sale.AsInternal(err)
	}
	r := table.Reader{Item: advanced}
	last := r.Number("next")
	if r.Err != nil {
		return nil, sale.AsInternal(r.Err)
	}
	ids := make([]uint64, n)
	for i := range ids {
		if ids[i], err = orderid.New(now, uint64(last-int64(n)+int64(i)+1)); err != nil {
			return nil, sale.AsInternal(err)
		}
	}
	return ids, nil
}
