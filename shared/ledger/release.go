package ledger

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// maxReleases is how many claims one transaction releases.
const maxReleases = 25

// unpaid is what releasing needs to know of a claim.
type unpaid struct {
	user    string
	orderID uint64
}

// release releases claims of one shard: up to maxReleases of them and the shard's count
// in one transaction. A claim that was paid or released meanwhile is left out, and the
// others are tried again. It does not write the sale item, so it does not conflict with the
// closing of a shard. It reports how many it released; a claim whose try had no answer may
// be missing in that.
//
// No claim of a shard expires that has a later edit than s: a pause, so that an operator can pause a sale while
// payments cannot be reported, or more time. So once either is answered, no claim expires against it, whatever a pass
// had read before. A shard with an earlier edit is as good: one that was cut off has reached the sale, which counts.
func (l *Ledger) release(ctx context.Context, s sale.Sale, k int, claims []unpaid, by sale.ReleasedBy) (int, error) {
	for len(claims) > 0 {
		reasons, err := l.table.RetryTransaction(ctx, l.releaseClaims(s, k, claims, by)...)
		if reasons == nil {
			if err != nil {
				return 0, sale.AsInternal(err)
			}
			return len(claims), nil
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
				return 0, sale.AsInternal(err)
			case held.PaidAt.IsZero() && !held.Released():
				return 0, sale.AsInternal(fmt.Errorf("order %s is not the claim's", orderid.String(c.orderID)))
			}
		}
		if table.Failed(ofShard) {
			return 0, errReleaseEdited
		}
		claims = left
	}
	return 0, nil
}

// errReleaseEdited: the sale is paused, or was edited after the pass had read it.
var errReleaseEdited = sale.Refuse(sale.Paused, "the sale is paused, or was edited meanwhile")

func (l *Ledger) releaseClaims(s sale.Sale, k int, claims []unpaid, by sale.ReleasedBy) []types.TransactWriteItem {
	now := table.Millis(l.now())
	// A shard without the count has nothing to add to, which is an error.
	count := table.Update{
		Key: table.StockKey(s.ID, k), Expr: "SET #released = #released + :n",
		Values: table.Item{":n": table.N(int64(len(claims)))},
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

// putBack puts the released units of a sale back into stock, shard by shard: each
// transaction writes the sale item, so concurrent ones would only conflict. It returns
// how many units it put back; units of a try without an answer may be missing in that. left is what
// the shards then have, as far as they had it when they were read.
func (l *Ledger) putBack(ctx context.Context, s sale.Sale) (units, left int64, err error) {
	shards, err := l.table.Shards(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	for k, one := range shards {
		left += one.Stock + one.Released - one.PutBack
		n, err := l.putBackShard(ctx, s.ID, k, one)
		if err != nil {
			return units, left, err
		}
		units += n
	}
	return units, left, nil
}

// putBackShard puts the released units of one shard back. The transaction requires that the
// shard's putBack is what was read, so a repeat changes nothing. It also raises the sale's
// version and takes the shard out of the empty set, as an addition does (P6).
func (l *Ledger) putBackShard(ctx context.Context, saleID string, k int, one table.Shard) (int64, error) {
	for one.Released > one.PutBack {
		units := one.Released - one.PutBack
		reasons, err := l.table.RetryTransaction(ctx,
			l.table.Action(table.Update{
				Key: table.StockKey(saleID, k), Expr: "SET #stock = #stock + :n, #putBack = :r", If: "#putBack = :p",
				ReturnOld: true, Values: table.Item{":n": table.N(units), ":r": table.N(one.Released), ":p": table.N(one.PutBack)},
			}),
			l.table.Action(table.Update{
				Key: table.SaleKey(saleID), Expr: "SET #version = #version + :one DELETE #empty :k", If: "#state = :open",
				Values: table.Item{":one": table.One, ":k": table.NS(k), ":open": table.S(string(sale.Open))},
			}),
		)
		if reasons == nil {
			return units, sale.AsInternal(err)
		}
		if !table.Failed(reasons[0]) {
			return 0, sale.AsInternal(err)
		}
		// Another call, or a try of this one, has put some back. putBack only grows, so
		// this loop ends.
		before := one.PutBack
		var readErr error
		if one, readErr = table.ReadShard(reasons[0].Item); readErr != nil || one.PutBack <= before {
			return 0, sale.AsInternal(fmt.Errorf("shard %d has %d put back: %w", k, one.PutBack, err))
		}
	}
	return 0, nil
}
