package ledger

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// verdict is what a cancelled purchase means. One without holder, guard, empty and refusal means
// nothing but contention: try once more.
type verdict struct {
	holder    *sale.Claim       // the user's existing claim
	guard     *table.GroupGuard // the user's existing guard in the sale's group
	keepShard bool              // the next try may be on the same shard
	empty     bool              // the shard has no stock
	refusal   *sale.Error       // the sale admits no purchase
	otherCall bool              // the shard is in another call of the draw
}

// purchase actions, in the order of the transaction.
const (
	actionStock = iota
	actionClaim
	actionGuard     // only in a sale with a group
	purchaseActions = actionGuard
	groupedActions  = actionGuard + 1
)

// readPurchase interprets the cancellation of a purchase tried at now, in a sale with a draw in
// the call that begins at opens. The order
// matters: an existing claim comes first, then an existing guard, which also stands where the
// claim of the same transaction is not shown; contention on any item hides the result of
// its condition (a user's own double click in flight, which may win, is not "sold out");
// stock comes last. An unknown combination is an error, never a guess.
func readPurchase(err error, of *sale.Sale, opens, now time.Time) (verdict, error) {
	actions := purchaseActions
	if of.LimitGroup != "" {
		actions = groupedActions
	}
	reasons, readErr := table.ReasonsOf(err, actions)
	if readErr != nil {
		return verdict{}, readErr
	}
	stock, claim := reasons[actionStock], reasons[actionClaim]
	stockCode, claimCode, guardCode := aws.ToString(stock.Code), aws.ToString(claim.Code), table.ReasonNone
	if of.LimitGroup != "" {
		guardCode = aws.ToString(reasons[actionGuard].Code)
	}
	switch {
	case claimCode == table.ReasonCondition:
		holder, readErr := table.ReadClaim(of.ID, of.Buckets, claim.Item)
		if readErr != nil {
			return verdict{}, readErr
		}
		return verdict{holder: &holder}, nil
	case guardCode == table.ReasonCondition:
		g, readErr := table.ReadGroupGuard(reasons[actionGuard].Item)
		if readErr != nil {
			return verdict{}, readErr
		}
		return verdict{guard: &g}, nil
	case table.Contention(stockCode):
		return verdict{}, nil
	case table.Contention(claimCode) || table.Contention(guardCode):
		return verdict{keepShard: stockCode == table.ReasonNone}, nil
	case stockCode != table.ReasonCondition || claimCode != table.ReasonNone || guardCode != table.ReasonNone:
		return verdict{}, fmt.Errorf("read cancellation: reasons %q, %q, %q: %w", stockCode, claimCode, guardCode, err)
	}
	s, readErr := table.ReadShard(stock.Item)
	if readErr != nil {
		return verdict{}, readErr
	}
	if of.HasDraw() && !s.OpensAt.Equal(opens) {
		return verdict{otherCall: true}, nil
	}
	as := sale.Sale{State: sale.Open, OpensAt: s.OpensAt, ClosesAt: s.ClosesAt, Paused: s.Paused, Draw: of.Draw}
	if refusal := as.Refusal(now); refusal != nil {
		return verdict{refusal: refusal}, nil
	}
	if s.Stock <= 0 {
		return verdict{empty: true}, nil
	}
	return verdict{}, fmt.Errorf("read cancellation: the shard meets its condition: %w", err)
}
