package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
)

// Claim returns the user's claim in a sale. It fails with sale.OrderNotFound,
// sale.SaleNotFound, sale.Busy or sale.Internal.
func (l *Ledger) Claim(ctx context.Context, saleID, user string) (sale.Claim, error) {
	s, err := l.existing(ctx, maxTries, saleID)
	if err != nil {
		return sale.Claim{}, err
	}
	return l.claim(ctx, s, user)
}

func (l *Ledger) claim(ctx context.Context, s sale.Sale, user string) (sale.Claim, error) {
	it, err := l.get(ctx, claimKey(s.ID, sale.BucketOf(user, s.Buckets), user))
	if err != nil {
		return sale.Claim{}, err
	}
	if it == nil {
		return sale.Claim{}, sale.Refuse(sale.OrderNotFound, "the user has no order in this sale")
	}
	c, err := readClaim(s.ID, s.Buckets, it)
	return c, asInternal(err)
}

// MayResend reports whether the order message of a claim is due to be resent now, and
// if so marks the claim, so that only one of several concurrent callers sends. It is
// due when the claim, both in c and in the table, has been pending for longer than
// ResendGrace and was last resent longer ago than that and than half its age, so
// resends become rarer over time. If c is confirmed, its order item is missing; the
// same rule applies. The mark is the only thing that repair writes (P17). A caller for whom a
// client waits must bound ctx. It fails with sale.Busy or sale.Internal.
//
// If it is unknown whether the mark was written, it reports true with the error. The caller
// must send: the mark may stand, and then nobody else sends before the claim is due again.
func (l *Ledger) MayResend(ctx context.Context, c sale.Claim) (bool, error) {
	now := l.now()
	if !resendDue(c, now) {
		return false, nil
	}
	condition, names := &ifQuiet, map[string]string{"#claimId": "claimId", "#resentAt": "resentAt"}
	if c.State() == sale.Pending {
		condition, names["#orderId"] = &ifPendingAndQuiet, "orderId"
	}
	s, err := l.existing(ctx, patientTries, c.SaleID)
	if err != nil {
		return false, err
	}
	unsure := false // a try had no answer: the mark may be this call's
	err = l.retry(ctx, patientTries, func(ctx context.Context) error {
		_, err := l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                l.table,
			Key:                      claimKey(c.SaleID, sale.BucketOf(c.User, s.Buckets), c.User),
			UpdateExpression:         &markResent,
			ConditionExpression:      condition,
			ExpressionAttributeNames: names,
			ExpressionAttributeValues: item{
				":claimId": str(c.ID), ":now": millis(now), ":before": millis(now.Add(-quietTime(c, now))),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		unsure = unsure || judge(err) == unknown
		return err
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return err == nil || unsure, asInternal(err)
	}
	held := reader{item: failed.Item}
	return unsure && held.optionalNumber("resentAt") == now.UnixMilli(), nil
}

// resendDue reports whether the message of a claim is due to be resent at now.
func resendDue(c sale.Claim, now time.Time) bool {
	if now.Sub(c.AcceptedAt) <= ResendGrace {
		return false
	}
	return c.ResentAt.IsZero() || now.Sub(c.ResentAt) > quietTime(c, now)
}

// quietTime is the minimum time between two resends of a claim's message.
func quietTime(c sale.Claim, now time.Time) time.Duration {
	return max(ResendGrace, now.Sub(c.AcceptedAt)/2)
}

var (
	markResent        = "SET #resentAt = :now"
	ifQuiet           = "#claimId = :claimId AND (attribute_not_exists(#resentAt) OR #resentAt < :before)"
	ifPendingAndQuiet = ifQuiet + " AND attribute_not_exists(#orderId)"
)

// Order returns an order by its id. It fails with sale.OrderNotFound,
// sale.Busy or sale.Internal.
func (l *Ledger) Order(ctx context.Context, id uint64) (sale.Order, error) {
	it, err := l.get(ctx, orderKey(id))
	if err != nil {
		return sale.Order{}, err
	}
	if it == nil {
		return sale.Order{}, sale.Refuse(sale.OrderNotFound, "no such order")
	}
	o, err := readOrder(it)
	return o, asInternal(err)
}
