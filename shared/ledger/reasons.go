package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// Cancellation reasons, as AWS spells them.
const (
	reasonNone       = "None"
	reasonCondition  = "ConditionalCheckFailed"
	reasonConflict   = "TransactionConflict"
	reasonThroughput = "ProvisionedThroughputExceeded"
	reasonThrottling = "ThrottlingError"
	reasonInProgress = "TransactionInProgress"
)

// reasonsOf returns the reasons of a cancelled transaction of n actions.
func reasonsOf(err error, n int) ([]types.CancellationReason, error) {
	cancel, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return nil, fmt.Errorf("read cancellation: %w", err)
	}
	if len(cancel.CancellationReasons) != n {
		return nil, fmt.Errorf("read cancellation: %d reasons for %d actions: %w", len(cancel.CancellationReasons), n, err)
	}
	return cancel.CancellationReasons, nil
}

// verdict is what a cancelled purchase means. One without holder, guard, empty and refusal means
// nothing but contention: try once more.
type verdict struct {
	holder    *sale.Claim // the user's existing claim
	guard     *groupGuard // the user's existing guard in the sale's group
	keepShard bool        // the next try may be on the same shard
	empty     bool        // the shard has no stock
	refusal   *sale.Error // the sale admits no purchase
	otherCall bool        // the shard is in another call of the draw
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
	reasons, readErr := reasonsOf(err, actions)
	if readErr != nil {
		return verdict{}, readErr
	}
	stock, claim := reasons[actionStock], reasons[actionClaim]
	stockCode, claimCode, guardCode := aws.ToString(stock.Code), aws.ToString(claim.Code), reasonNone
	if of.LimitGroup != "" {
		guardCode = aws.ToString(reasons[actionGuard].Code)
	}
	switch {
	case claimCode == reasonCondition:
		holder, readErr := readClaim(of.ID, of.Buckets, claim.Item)
		if readErr != nil {
			return verdict{}, readErr
		}
		return verdict{holder: &holder}, nil
	case guardCode == reasonCondition:
		g, readErr := readGroupGuard(reasons[actionGuard].Item)
		if readErr != nil {
			return verdict{}, readErr
		}
		return verdict{guard: &g}, nil
	case contention(stockCode):
		return verdict{}, nil
	case contention(claimCode) || contention(guardCode):
		return verdict{keepShard: stockCode == reasonNone}, nil
	case stockCode != reasonCondition || claimCode != reasonNone || guardCode != reasonNone:
		return verdict{}, fmt.Errorf("read cancellation: reasons %q, %q, %q: %w", stockCode, claimCode, guardCode, err)
	}
	s, readErr := readShard(stock.Item)
	if readErr != nil {
		return verdict{}, readErr
	}
	if of.HasDraw() && !s.opensAt.Equal(opens) {
		return verdict{otherCall: true}, nil
	}
	as := sale.Sale{State: sale.Open, OpensAt: s.opensAt, ClosesAt: s.closesAt, Paused: s.paused, Draw: of.Draw}
	if refusal := as.Refusal(now); refusal != nil {
		return verdict{refusal: refusal}, nil
	}
	if s.stock <= 0 {
		return verdict{empty: true}, nil
	}
	return verdict{}, fmt.Errorf("read cancellation: the shard meets its condition: %w", err)
}
