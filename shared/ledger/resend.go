package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/sale"
)

const (
	// ResendGrace is how long a claim may be pending before its order message is
	// considered lost. It is longer than a message takes through the queue when nothing
	// fails.
	ResendGrace = 30 * time.Second
	// ResendBound is the latest time after acceptance by which a claim's lost message
	// has been resent, however full the queue is (P8, P11): once if it was lost once,
	// twice if it was lost twice. An order that is still pending then raises an alarm.
	ResendBound = 5 * time.Minute
	// RepairBound is the latest time after the end of an outage of any length by which a
	// claim's message has been resent (P8). A message that was sent and came to nothing,
	// or that could not be sent, keeps its claim quiet for longestQuiet; the next passes
	// of reconcile follow within ResendBound.
	RepairBound  = 30 * time.Minute
	longestQuiet = RepairBound - ResendBound
)

// MarkResent marks a claim if its order message is due to be resent now, so that only one
// of several concurrent callers sends, and returns the mark: zero if it is not due. It is
// due when the claim, both in c and in the table, has been pending for longer than
// ResendGrace and was last resent longer ago than quietTime. If c is confirmed, its order
// item is missing; the same rule applies. Marks are all that repair writes (P17). A caller
// for whom a client waits must bound ctx. It fails with sale.Busy or sale.Internal.
//
// If it is unknown whether the mark was written, it returns the mark with the error. The
// caller must send: the mark may stand, and then nobody else sends before the claim is due
// again.
func (l *Ledger) MarkResent(ctx context.Context, c sale.Claim, hurry bool) (mark time.Time, err error) {
	now := l.now()
	if !resendDue(c, now, hurry) {
		return time.Time{}, nil
	}
	condition := ifQuiet
	if c.State() == sale.Pending {
		condition += " AND attribute_not_exists(#orderId)"
	}
	values := table.Item{
		":claimId": table.S(c.ID), ":now": table.Millis(now), ":before": table.Millis(now.Add(-quietTime(c, now, hurry))),
	}
	unsure, err := l.updateMark(ctx, c, table.Update{Expr: markResent, If: condition, Values: values})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		stored := table.Reader{Item: failed.Item}
		if unsure && stored.OptionalNumber("resentAt") == now.UnixMilli() {
			return now, nil
		}
		return time.Time{}, nil
	}
	if err == nil || unsure {
		mark = now
	}
	return mark, sale.AsInternal(err)
}

// Unmark puts back what c, as MarkResent got it, says of its last message, unless somebody
// else has marked the claim since: its message could not be sent, and it is due again at
// once. It fails with sale.Busy or sale.Internal.
func (l *Ledger) Unmark(ctx context.Context, c sale.Claim, mark time.Time) error {
	update := table.Update{
		Expr: "REMOVE #resentAt", If: "#resentAt = :mark", Values: table.Item{":mark": table.Millis(mark)},
	}
	if !c.ResentAt.IsZero() {
		update.Expr, update.Values[":now"] = markResent, table.Millis(c.ResentAt)
	}
	_, err := l.updateMark(ctx, c, update)
	if failed := (*types.ConditionalCheckFailedException)(nil); errors.As(err, &failed) {
		return nil
	}
	return sale.AsInternal(err)
}

// updateMark updates the claim. unsure: a try had no answer, so that the update may have
// been applied, or may still be.
func (l *Ledger) updateMark(ctx context.Context, c sale.Claim, update table.Update) (unsure bool, err error) {
	s, err := l.existing(ctx, table.PatientTries, c.SaleID)
	if err != nil {
		return false, err
	}
	update.Key, update.ReturnOld = table.ClaimKey(c.SaleID, sale.BucketOf(c.User, s.Buckets), c.User), true
	_, unsure, err = l.table.UpdateWithin(ctx, table.PatientTries, update)
	return unsure, err
}

// resendDue reports whether the message of a claim is due to be resent at now.
func resendDue(c sale.Claim, now time.Time, hurry bool) bool {
	if now.Sub(c.AcceptedAt) <= ResendGrace {
		return false
	}
	return c.ResentAt.IsZero() || now.Sub(c.ResentAt) > quietTime(c, now, hurry)
}

// quietTime is the minimum time between two resends of a claim's message: half the claim's
// age, so that resends become rarer while what they need does not work, but no more than
// allows for RepairBound. In a hurry it is only as long as a message may take.
func quietTime(c sale.Claim, now time.Time, hurry bool) time.Duration {
	if hurry {
		return ResendGrace
	}
	return min(max(ResendGrace, now.Sub(c.AcceptedAt)/2), longestQuiet)
}

const (
	markResent = "SET #resentAt = :now"
	ifQuiet    = "#claimId = :claimId AND (attribute_not_exists(#resentAt) OR #resentAt < :before)"
)
