package ledger

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

// verdict is what a cancelled purchase means. One without holder, guard, empty, short and refusal means
// nothing but contention: try once more.
type verdict struct {
	holder    *sale.Claim       // the user's existing claim
	guard     *table.GroupGuard // the user's existing guard in the sale's group
	keepShard bool              // the next try may be on the same shard
	empty     sale.Set          // the shards that have no stock
	short     []part            // the shards that have fewer units than their parts, with what they have
	refusal   *sale.Error       // the sale admits no purchase
	otherCall bool              // the shard is in another call of the draw
}

// readPurchase interprets the cancellation of a purchase tried at now, in a sale with a draw in
// the call that begins at opens. Its actions are those of the parts, of the claim and, in a sale with a group, of the
// guard. The order
// matters: an existing claim comes first, then an existing guard, which also stands where the
// claim of the same transaction is not shown; contention on any item hides the result of
// its condition (a user's own double click in flight, which may win, is not "sold out");
// then the window of any shard; stock comes last. An unknown combination is an error, never a guess.
func readPurchase(err error, of *sale.Sale, parts []part, opens, now time.Time) (verdict, error) {
	actions := len(parts) + 1
	if of.LimitGroup != "" {
		actions++
	}
	reasons, readErr := table.ReasonsOf(err, actions)
	if readErr != nil {
		return verdict{}, readErr
	}
	claim := reasons[len(parts)]
	stockCode, claimCode, guardCode := table.ReasonNone, aws.ToString(claim.Code), table.ReasonNone
	isContended := false
	for _, reason := range reasons[:len(parts)] {
		switch code := aws.ToString(reason.Code); {
		case table.Contention(code):
			isContended = true
		case code != table.ReasonNone && (stockCode == table.ReasonNone || code != table.ReasonCondition):
			stockCode = code // one that nobody knows before a condition
		}
	}
	if of.LimitGroup != "" {
		guardCode = aws.ToString(reasons[actions-1].Code)
	}
	switch {
	case claimCode == table.ReasonCondition:
		holder, readErr := table.ReadClaim(of.ID, of.Buckets, claim.Item)
		if readErr != nil {
			return verdict{}, readErr
		}
		return verdict{holder: &holder}, nil
	case guardCode == table.ReasonCondition:
		g, readErr := table.ReadGroupGuard(reasons[actions-1].Item)
		if readErr != nil {
			return verdict{}, readErr
		}
		return verdict{guard: &g}, nil
	case isContended:
		return verdict{}, nil
	case table.Contention(claimCode) || table.Contention(guardCode):
		return verdict{keepShard: stockCode == table.ReasonNone}, nil
	case stockCode != table.ReasonCondition || claimCode != table.ReasonNone || guardCode != table.ReasonNone:
		return verdict{}, fmt.Errorf("read cancellation: reasons %q, %q, %q: %w", stockCode, claimCode, guardCode, err)
	}
	var v verdict
	for i, reason := range reasons[:len(parts)] {
		if !table.Failed(reason) {
			continue
		}
		s, readErr := table.ReadShard(reason.Item)
		if readErr != nil {
			return verdict{}, readErr
		}
		if of.HasDraw() && !s.OpensAt.Equal(opens) {
			return verdict{otherCall: true}, nil
		}
		as := sale.Sale{State: sale.Open, OpensAt: s.OpensAt, ClosesAt: s.ClosesAt, Paused: s.Paused, Draw: of.Draw}
		if v.refusal = as.Refusal(now); v.refusal != nil {
			return v, nil
		}
		switch {
		case s.Stock <= 0:
			v.empty.Add(parts[i].shard)
		case s.Stock < parts[i].units:
			v.short = append(v.short, part{parts[i].shard, s.Stock})
		default:
			return verdict{}, fmt.Errorf("read cancellation: the shard meets its condition: %w", err)
		}
	}
	return v, nil
}
