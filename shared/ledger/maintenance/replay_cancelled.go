package maintenance

import (
	"context"
	"strconv"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// cancelling are the assignments that make a claim cancelled by an operator; none if it is not.
func cancelling(c sale.Claim) (assignments string, values table.Item) {
	if c.Unit == "" {
		return "", nil
	}
	assignments, values = "#unit = :unit", table.Item{":unit": table.S(string(c.Unit))}
	if !c.CancelledAt.IsZero() {
		assignments += ", #cancelledAt = :cancelledAt"
		values[":cancelledAt"] = table.Millis(c.CancelledAt)
	}
	if !c.CancelledAt.IsZero() || c.Unit == sale.UnitKept {
		assignments += ", #minReader = :minReader"
		values[":minReader"] = table.N(int64(max(c.MinReader, sale.ReadsOperators)))
	}
	return assignments, values
}

// cancel writes that an operator has cancelled a claim that is paid.
func (p *replay) cancel(ctx context.Context, c sale.Claim) error {
	assignments, values := cancelling(c)
	return p.table.Update(ctx, table.Update{
		Key: claimKey(c), Expr: "SET " + assignments, If: "attribute_not_exists(#cancelledAt)", Values: values,
	})
}

// cancellationOf is what is stored of the cancellation of a claim. Who it was is lost.
func (p *replay) cancellationOf(c sale.Claim) table.Item {
	id := "restore-" + strconv.FormatInt(p.lost.RestoredTo.UnixMilli(), 10)
	made := sale.CancelledOrder{
		OrderID: c.OrderID, ID: id, At: c.ReleasedAt, Expected: sale.Confirmed, Unit: c.Unit,
		Author: p.author(),
	}
	if !c.CancelledAt.IsZero() {
		made.At, made.Expected = c.CancelledAt, sale.Paid
	}
	it := table.CancelledItem(c.SaleID, made)
	it["call"] = table.S(id)
	return it
}

// end counts how a claim of that shard has ended.
func (one *replayed) end(c sale.Claim, shard int) {
	if c.Unit != "" {
		one.cancelled++
	}
	if c.Ended() && c.Unit != sale.UnitKept && shard < one.sale.Shards {
		one.released[shard] += c.UnitCount()
	}
}
