package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// unpaid is what releasing needs to know of a claim.
type unpaid struct {
	user    string
	orderID uint64
	units   int64
}

func unpaidOf(c sale.Claim) unpaid { return unpaid{c.User, c.OrderID, c.UnitCount()} }

// unitsOf sums the units of claims.
func unitsOf(claims []unpaid) (units int64) {
	for _, c := range claims {
		units += c.units
	}
	return units
}

// release releases claims of one shard: up to maxReleases of them and the shard's count
// in one transaction. A claim that was paid or released meanwhile is left out, and the
// others are tried again. It does not write the sale item, so it does not conflict with the
// closing of a shard. It returns those that it released; a claim whose try had no answer may
// be missing in that.
//
// No claim of a shard expires that has a later edit than s: a pause, so that an operator can pause a sale while
// payments cannot be reported, or more time. So once either is answered, no claim expires against it, whatever a pass
// had read before. A shard with an earlier edit is as good: one that was cut off has reached the sale, which counts.
func (l *Ledger) release(
	ctx context.Context, s sale.Sale, k int, claims []unpaid, by sale.ReleasedBy,
) ([]unpaid, error) {
	for len(claims) > 0 {
		reasons, err := l.table.RetryTransaction(ctx, l.releaseClaims(s, k, claims, by)...)
		if reasons == nil {
			if err != nil {
				return nil, sale.AsInternal(err)
			}
			return claims, nil
		}
		ofShard, ofClaims := reasons[0], reasons[1:]
		var left []unpaid
		for i, c := range claims {
			if !table.Failed(ofClaims[i]) {
				left = append(left, c)
				continue
			}
			held, err := table.ReadClaim(s.ID, s.Buckets, ofClaims[i].Item)
			switch {
			case err != nil:
				return nil, sale.AsInternal(err)
			case held.PaidAt.IsZero() && !held.Released():
				return nil, sale.AsInternal(fmt.Errorf("order %s is not the claim's", orderid.String(c.orderID)))
			}
		}
		if table.Failed(ofShard) {
			return nil, errReleaseEdited
		}
		claims = left
	}
	return nil, nil
}

// errReleaseEdited: the sale is paused, or was edited after the pass had read it.
var errReleaseEdited = sale.Refuse(sale.Paused, "the sale is paused, or was edited meanwhile")

func (l *Ledger) releaseClaims(s sale.Sale, k int, claims []unpaid, by sale.ReleasedBy) []types.TransactWriteItem {
	now := table.Millis(l.now())
	// A shard without the count has nothing to add to, which is an error.
	count := table.Update{
		Key: table.StockKey(s.ID, k), Expr: "SET #released = #released + :n",
		Values: table.Item{":n": table.N(unitsOf(claims))},
	}
	switch by {
	case sale.ByOperator: // the shards of a sale that asks for no payment have no counts yet
		count.Expr, count.Values[":zero"] = "ADD #released :n, #putBack :zero", table.Zero
	case sale.ByExpiry:
		count.If, count.Values[":read"] = "#changedAt <= :read", table.Millis(s.ChangedAt)
	}
	actions := append(make([]types.TransactWriteItem, 0, 1+len(claims)), l.table.Action(count))
	for _, c := range claims {
		actions = append(actions, l.table.Action(table.Update{
			Key:  table.ClaimKey(s.ID, sale.BucketOf(c.user, s.Buckets), c.user),
			Expr: "SET #releasedAt = :now, #releasedBy = :by", If: "#orderId = :orderId AND " + table.IfNotFinal,
			ReturnOld: true, Values: table.Item{":now": now, ":by": table.S(string(by)), ":orderId": table.N(int64(c.orderID))},
		}))
	}
	return actions
}

// maxPutBack is how many shards a transaction puts units back into, beside the sale.
const maxPutBack = 99

// putBack puts the released units of a sale back into stock, many shards at a time of those from which nobody
// buys now, and one of the others, or of those that are too busy together. The transactions follow each other,
// because each writes the sale item. It returns how many units it put back; units of a try without an answer may be
// missing in that. shards are as they were read before that.
func (l *Ledger) putBack(ctx context.Context, s sale.Sale) (units int64, shards []table.Shard, err error) {
	if shards, err = l.table.Shards(ctx, s); err != nil {
		return 0, nil, err
	}
	var idle []int
	var batches [][]int
	for k, one := range shards {
		switch {
		case one.Released <= one.PutBack:
		case one.Stock == 0 || s.Paused:
			idle = append(idle, k)
		default:
			batches = append(batches, []int{k})
		}
	}
	batches = slices.AppendSeq(batches, slices.Chunk(idle, maxPutBack))
	for i := 0; i < len(batches); i++ {
		n, err := l.putBackShards(ctx, s.ID, batches[i], shards)
		switch {
		case sale.CodeOf(err) == sale.Busy && len(batches[i]) > 1 && ctx.Err() == nil: // of so many one is always written
			batches = slices.AppendSeq(batches, slices.Chunk(batches[i], 1))
		case err != nil:
			return units, shards, err
		default:
			units += n
		}
	}
	return units, shards, nil
}

// putBackShards puts the released units of these shards back. The transaction requires that each
// shard's putBack is what was read, so a repeat changes nothing. It also raises the sale's
// version, by one for each, and takes the shards out of the empty set, as an addition does (P6).
func (l *Ledger) putBackShards(ctx context.Context, saleID string, ks []int, shards []table.Shard) (int64, error) {
	for len(ks) > 0 {
		var units int64
		var actions []types.TransactWriteItem
		for _, k := range ks {
			one := shards[k]
			n := one.Released - one.PutBack
			units += n
			actions = append(actions, l.table.Action(table.Update{
				Key: table.StockKey(saleID, k), Expr: "SET #stock = #stock + :n, #putBack = :r", If: "#putBack = :p",
				ReturnOld: true, Values: table.Item{":n": table.N(n), ":r": table.N(one.Released), ":p": table.N(one.PutBack)},
			}))
		}
		reasons, err := l.table.RetryTransaction(ctx, append(actions, l.table.Action(table.Update{
			Key: table.SaleKey(saleID), Expr: "SET #version = #version + :n DELETE #empty :k", If: "#state = :open",
			Values: table.Item{":n": table.N(int64(len(ks))), ":k": table.NS(ks...), ":open": table.S(string(sale.Open))},
		}))...)
		if reasons == nil {
			return units, sale.AsInternal(err)
		}
		if table.Failed(reasons[len(ks)]) {
			return 0, sale.AsInternal(err)
		}
		// Another call, or a try of this one, has put some back. putBack only grows, so
		// this loop ends.
		var left []int
		for i, k := range ks {
			if table.Failed(reasons[i]) {
				before := shards[k].PutBack
				var readErr error
				if shards[k], readErr = table.ReadShard(reasons[i].Item); readErr != nil || shards[k].PutBack <= before {
					return 0, sale.AsInternal(fmt.Errorf("shard %d has %d put back: %w", k, shards[k].PutBack, err))
				}
			}
			if shards[k].Released > shards[k].PutBack {
				left = append(left, k)
			}
		}
		ks = left
	}
	return 0, nil
}
