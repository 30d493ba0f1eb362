package ledger

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// auditClaims reads the claims that the pass has not read yet, of several buckets at once.
func (l *Ledger) auditClaims(ctx context.Context, s sale.Sale, a *Audit, stranded Stranded) error {
	var mu sync.Mutex // guards a, but for its places, and orders the calls of stranded
	var failed atomic.Bool
	errs := make([]error, len(a.Places))
	each(len(a.Places), func(i int) {
		for place := &a.Places[i]; !place.read && !failed.Load(); {
			if errs[i] = l.auditPage(ctx, s, a, place, &mu, stranded); errs[i] != nil {
				failed.Store(true)
			}
		}
	})
	a.Places = slices.DeleteFunc(a.Places, func(p Place) bool { return p.read })
	return worst("bucket", errs)
}

// pageClaims bounds a page, so that the pages that are held at a time need little memory.
const pageClaims = 1000

// auditPage reads the page of claims at a place and adds it to the pass, all or nothing.
func (l *Ledger) auditPage(ctx context.Context, s sale.Sale, a *Audit, at *Place, mu *sync.Mutex, stranded Stranded) error {
	l.pages <- struct{}{}
	defer func() { <-l.pages }()
	out, err := l.claimPage(ctx, s.ID, at.Bucket, at.After, pageClaims)
	if err != nil {
		return err
	}
	claims := make([]sale.Claim, 0, len(out.Items))
	var unreadable []string
	for _, it := range out.Items {
		c, err := readClaim(s.ID, s.Buckets, it)
		if err != nil {
			unreadable = append(unreadable, fmt.Sprintf("user %q: %v (P19)", identityOf(it).sk, err))
			continue
		}
		claims = append(claims, c)
	}
	orders, err := l.auditOrders(ctx, a, claims)
	if err != nil {
		return err
	}
	next := Place{Bucket: at.Bucket}
	bucket, after, err := pageEnd(out, at.Bucket)
	if err != nil {
		return err
	}
	next.After, next.read = after, bucket != at.Bucket

	mu.Lock()
	defer mu.Unlock()
	*at = next
	if out.ConsumedCapacity != nil {
		a.ReadUnits += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	a.ReadUnits += float64(orders.read)
	for _, text := range append(unreadable, orders.findings...) {
		a.note("%s", text)
	}
	l.countClaims(s, a, at.Bucket, claims, stranded)
	now := l.now()
	for _, c := range orders.missing {
		if a.Missing++; len(a.StillAbsent) < maxAbsent {
			a.StillAbsent = append(a.StillAbsent, c.OrderID)
		}
		a.age(now.Sub(orderid.Time(c.OrderID)))
		if resendDue(c, now, a.Hurry) {
			stranded(c)
		}
	}
	return nil
}

// claimPage reads the page of a bucket's claims after that user, or its first page if
// that is "": at most that many claims, or as many as DynamoDB returns if most is 0.
func (l *Ledger) claimPage(ctx context.Context, saleID string, bucket int, after string, most int32) (*dynamodb.QueryOutput, error) {
	pk := claimKey(saleID, bucket, "")[attrPK]
	in := &dynamodb.QueryInput{
		TableName:                 l.table,
		ConsistentRead:            &yes,
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK},
		ExpressionAttributeValues: item{":pk": pk},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	if after != "" {
		in.ExclusiveStartKey = item{attrPK: pk, attrSK: str(after)}
	}
	if most > 0 {
		in.Limit = &most
	}
	var out *dynamodb.QueryOutput
	err := l.retry(ctx, patientTries, func(ctx context.Context) (err error) {
		out, err = l.api.Query(ctx, in)
		return err
	})
	return out, asInternal(err)
}

// pageEnd returns where the page after out begins: the bucket and its last user read.
func pageEnd(out *dynamodb.QueryOutput, bucket int) (int, string, error) {
	if len(out.LastEvaluatedKey) == 0 {
		return bucket + 1, "", nil
	}
	r := reader{item: out.LastEvaluatedKey}
	after := r.text(attrSK)
	return bucket, after, asInternal(r.err)
}

// age records how long an order has been unfinished. A pass may take longer than that,
// so the age is taken when the claim is read.
func (a *Audit) age(d time.Duration) { a.OldestSeconds = max(a.OldestSeconds, int64(d/time.Second)) }

func (l *Ledger) countClaims(s sale.Sale, a *Audit, bucket int, claims []sale.Claim, stranded Stranded) {
	now := l.now()
	for _, c := range claims {
		if sale.BucketOf(c.User, s.Buckets) != bucket {
			a.note("user %q: a claim outside of its bucket (P3)", c.User)
		}
		if c.Shard < 0 || c.Shard >= s.Shards {
			a.note("user %q: the claim names shard %d of %d (P2)", c.User, c.Shard, s.Shards)
		} else {
			a.Claims[c.Shard]++
		}
		checkAccepted(s, a, c, now)
		// The release compared the same two instants, so clock error does not matter.
		if c.State() == sale.Expired && c.ReleasedAt.Before(payBy(s, c.OrderID)) {
			a.note("user %q: released at %s, although it was to be paid by %s (P21)", c.User,
				c.ReleasedAt.Format(time.RFC3339), payBy(s, c.OrderID).Format(time.RFC3339))
		}
		switch c.State() {
		case sale.Confirmed:
			a.Unpaid++
		case sale.Paid:
			a.Paid++
			a.addPayment(c.Payment)
		case sale.Expired, sale.Cancelled:
			a.Released++
		}
		if c.State() != sale.Pending {
			a.Confirmed++
			// An id has whole seconds only.
			earliest := c.AcceptedAt.Add(-clockSkew).Truncate(time.Second)
			if at := orderid.Time(c.OrderID); at.Before(earliest) || at.After(now.Add(clockSkew)) {
				a.note("user %q: order %s says %s, the claim is of %s (P7)", c.User, orderid.String(c.OrderID),
					at.Format(time.RFC3339), c.AcceptedAt.Format(time.RFC3339))
			}
			continue
		}
		a.Pending++
		a.age(now.Sub(c.AcceptedAt))
		if resendDue(c, now, a.Hurry) {
			stranded(c)
		}
	}
}

// maxPayments bounds the payments that a pass compares, 8 bytes each.
const maxPayments = 1 << 20

var paymentSeed = maphash.MakeSeed()

func (a *Audit) addPayment(id string) {
	if len(a.payments) < maxPayments {
		a.payments = append(a.payments, maphash.String(paymentSeed, id))
	}
}

// findDoublePayments reports payments that were read twice, as those of several orders or
// of an order and a refund: their provider has reported one reference for each of these,
// which no write of a claim or a refund can notice.
func (a *Audit) findDoublePayments() {
	all := len(a.payments)
	slices.Sort(a.payments)
	a.payments = slices.Compact(a.payments)
	if n := all - len(a.payments); n > 0 {
		a.note("%d orders or refunds have a payment that is another's, too; a recount names them (P24)", n)
	}
}

// checkAccepted compares the instant of a claim with the window. The purchase's
// condition used the same instant, so clock error does not matter if the window was
// never edited; if it was, the window at the time of the purchase is unknown.
func checkAccepted(s sale.Sale, a *Audit, c sale.Claim, now time.Time) {
	if c.AcceptedAt.After(now.Add(clockSkew)) {
		a.note("user %q: the claim is of %s, which is yet to come (P14)", c.User, c.AcceptedAt.Format(time.RFC3339))
	}
	if s.ChangedAt.UnixMilli() == 0 && (c.AcceptedAt.Before(s.OpensAt) || !c.AcceptedAt.Before(s.ClosesAt)) {
		// An edit after the sale was read may have moved the window.
		a.suspect("accepted "+c.User, "user %q: the claim is of %s, outside of the sale's window (P14)",
			c.User, c.AcceptedAt.Format(time.RFC3339))
	}
}

// auditedOrders is what the orders of a page are like.
type auditedOrders struct {
	missing  []sale.Claim // their claims
	findings []string
	read     int
}

// auditOrders checks the orders of a page's confirmed claims. An order that names its
// claim belongs to that claim alone, so ids are unique if all do (P7).
func (l *Ledger) auditOrders(ctx context.Context, a *Audit, claims []sale.Claim) (result auditedOrders, err error) {
	var keys []item
	var asked []sale.Claim
	for _, c := range claims {
		if c.State() != sale.Pending && (!orderid.Time(c.OrderID).Before(a.OrdersFrom) || slices.Contains(a.Absent, c.OrderID)) {
			keys, asked = append(keys, orderKey(c.OrderID)), append(asked, c)
		}
	}
	errs := make([]error, (len(keys)+batchKeys-1)/batchKeys)
	orders := make([]map[identity]item, len(errs))
	each(len(errs), func(i int) {
		l.batches <- struct{}{}
		defer func() { <-l.batches }()
		orders[i], errs[i] = l.getAll(ctx, keys[i*batchKeys:min((i+1)*batchKeys, len(keys))])
	})
	if err := errors.Join(errs...); err != nil {
		return auditedOrders{}, worst("batch of orders", errs)
	}
	result.read = len(keys)
	for i, c := range asked {
		it := orders[i/batchKeys][identityOf(orderKey(c.OrderID))]
		if it == nil {
			result.missing = append(result.missing, c)
			continue
		}
		switch o, err := readOrder(it); {
		case err != nil:
			result.findings = append(result.findings, fmt.Sprintf("order %s: %v (P19)", orderid.String(c.OrderID), err))
		case o != sale.Order{ID: c.OrderID, SaleID: c.SaleID, User: c.User, ClaimID: c.ID}:
			result.findings = append(result.findings, fmt.Sprintf("user %q: order %s belongs to another claim (P7)", c.User, orderid.String(c.OrderID)))
		}
	}
	return result, nil
}
