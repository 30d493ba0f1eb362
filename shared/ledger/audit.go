package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

const (
	// SettleTime is how long a mismatch must last to count: a reader may see
	// one half of a transaction a moment before the other.
	SettleTime = 10 * time.Second
	// maxFindings bounds what a receipt lists; the first ones say enough.
	maxFindings = 20
	// Recheck is how far before a pass's beginning the next one looks at the
	// orders again: an order item follows its id by less.
	Recheck = time.Minute
	// clockSkew is by how much two machines' clocks may differ: an order id's
	// second may lie that much before its claim.
	clockSkew = time.Minute
)

// Audit is one pass over a sale's books on its way: it reads the shards, then
// every claim, then the shards again. It may be cut off between two pages and
// go on later, in another process: all it knows is in its fields.
type Audit struct {
	SaleID string    `json:"saleId"`
	Began  time.Time `json:"began"`
	// Sold is the units sold per shard before the claims were read.
	Sold []int64 `json:"sold"`
	// Claims counts the claims read so far, per shard.
	Claims []int64 `json:"claims"`
	// Bucket and After say where to go on: after that user of that bucket.
	Bucket int    `json:"bucket"`
	After  string `json:"after,omitempty"`

	Pending       int64     `json:"pending"`
	Confirmed     int64     `json:"confirmed"`
	OldestPending time.Time `json:"oldestPending"`
	// Missing counts confirmed claims whose order item is not there.
	Missing  int64    `json:"missing"`
	Findings []string `json:"findings,omitempty"`
	// Suspects are the shards that did not balance in the pass before; only
	// those that do not balance again are findings.
	Suspects []int `json:"suspects,omitempty"`
	// OrdersFrom is the instant before which confirmed claims are known to have
	// their order items; zero looks at all.
	OrdersFrom time.Time `json:"ordersFrom"`
	// ReadUnits is what the pass has cost so far, in read request units.
	ReadUnits float64 `json:"readUnits"`
}

// Receipt is the books of one sale at one instant. Balanced is P1, P2, P3 and
// P7 as the table itself shows them.
type Receipt struct {
	SaleID               string
	AsOf                 time.Time
	Seeded, Stock        int64
	Claims               int64
	Pending, Confirmed   int64
	OldestPendingSeconds int64
	Balanced             bool
	Findings             []string
	// ClosesAt is the end of the sale; Missing the number of order items that
	// are not there; ReadUnits what the pass has cost.
	ClosesAt  time.Time
	Missing   int64
	ReadUnits float64
}

// Stranded receives the claims of a pass whose message may have to be sent
// again: pending ones older than ResendGrace, and confirmed ones without their
// order item.
type Stranded func(sale.Claim)

// Step goes on with a pass until it is complete or ctx ends. When the pass is
// complete it returns the receipt. When shards did not balance for the first
// time it begins a new pass and returns nil: the caller waits SettleTime and
// steps again. It fails with sale.SaleNotFound, sale.Busy (step again later; a
// has moved on as far as it came) or sale.Internal.
func (l *Ledger) Step(ctx context.Context, a *Audit, stranded Stranded) (*Receipt, error) {
	s, err := l.reread(ctx, a.SaleID)
	if err != nil {
		return nil, err
	}
	a.ReadUnits++
	if a.Sold == nil {
		a.Began = l.now()
		if a.Sold, _, err = l.countSold(ctx, s, a); err != nil {
			return nil, err
		}
		a.Claims = make([]int64, s.Shards)
	}
	for a.Bucket < s.Buckets {
		if err := l.auditPage(ctx, s, a, stranded); err != nil {
			return nil, err
		}
	}
	after, totals, err := l.countSold(ctx, s, a)
	if err != nil {
		return nil, err
	}
	var unbalanced []int
	for k := range s.Shards {
		if a.Sold[k] <= a.Claims[k] && a.Claims[k] <= after[k] {
			continue
		}
		unbalanced = append(unbalanced, k)
		if slices.Contains(a.Suspects, k) {
			a.find("shard %d: %d to %d units sold, %d claims (P1, P2)", k, a.Sold[k], after[k], a.Claims[k])
		}
	}
	if len(unbalanced) > 0 && a.Suspects == nil {
		*a = Audit{SaleID: a.SaleID, Suspects: unbalanced, OrdersFrom: a.OrdersFrom, ReadUnits: a.ReadUnits}
		return nil, nil
	}
	if totals.seeded != s.Seeded {
		// The sale item was read before the shards: an addition may be on its way.
		if s, err = l.reread(ctx, a.SaleID); err != nil {
			return nil, err
		}
		if totals.seeded > s.Seeded {
			a.find("the shards were given %d units, the sale %d (P2)", totals.seeded, s.Seeded)
		}
	}
	return l.receipt(s, a, totals), nil
}

func (l *Ledger) receipt(s sale.Sale, a *Audit, totals shard) *Receipt {
	now := l.now()
	r := &Receipt{
		SaleID: s.ID, AsOf: now, Seeded: totals.seeded, Stock: totals.stock, ClosesAt: s.ClosesAt,
		Claims: a.Pending + a.Confirmed, Pending: a.Pending, Confirmed: a.Confirmed,
		Balanced: len(a.Findings) == 0, Findings: a.Findings, Missing: a.Missing, ReadUnits: a.ReadUnits,
	}
	if a.Pending > 0 {
		r.OldestPendingSeconds = int64(now.Sub(a.OldestPending) / time.Second)
	}
	return r
}

func (a *Audit) find(format string, args ...any) {
	if len(a.Findings) < maxFindings {
		a.Findings = append(a.Findings, fmt.Sprintf(format, args...))
	}
}

// countSold reads every shard consistently: units sold per shard, and the
// totals of stock and seeded.
func (l *Ledger) countSold(ctx context.Context, s sale.Sale, a *Audit) ([]int64, shard, error) {
	keys := make([]item, s.Shards)
	number := make(map[identity]int, s.Shards)
	for k := range keys {
		keys[k] = stockKey(s.ID, k)
		number[identityOf(keys[k])] = k
	}
	items, err := l.batchGet(ctx, maxTries, keys, true)
	if err != nil {
		return nil, shard{}, err
	}
	a.ReadUnits += float64(s.Shards)
	if len(items) != s.Shards {
		return nil, shard{}, foreign(fmt.Errorf("%d of %d shards exist", len(items), s.Shards))
	}
	sold := make([]int64, s.Shards)
	var totals shard
	for _, it := range items {
		one, err := readShard(it)
		if err != nil {
			return nil, shard{}, foreign(err)
		}
		k := number[identityOf(it)]
		sold[k] = one.seeded - one.stock
		totals.stock += one.stock
		totals.seeded += one.seeded
		if one.stock < 0 {
			a.find("shard %d: stock is %d (P1)", k, one.stock)
		}
	}
	return sold, totals, nil
}

// auditPage reads one page of claims and takes it into the pass, all or
// nothing.
func (l *Ledger) auditPage(ctx context.Context, s sale.Sale, a *Audit, stranded Stranded) error {
	pk := claimKey(s.ID, a.Bucket, "")[attrPK]
	in := &dynamodb.QueryInput{
		TableName:                 l.table,
		ConsistentRead:            &yes,
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK},
		ExpressionAttributeValues: item{":pk": pk},
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityTotal,
	}
	if a.After != "" {
		in.ExclusiveStartKey = item{attrPK: pk, attrSK: str(a.After)}
	}
	var out *dynamodb.QueryOutput
	err := l.retry(ctx, maxTries, func(ctx context.Context) (err error) {
		out, err = l.api.Query(ctx, in)
		return err
	})
	if err != nil {
		return foreign(err)
	}
	claims := make([]sale.Claim, len(out.Items))
	for i, it := range out.Items {
		if claims[i], err = readClaim(s.ID, s.Buckets, it); err != nil {
			return foreign(err)
		}
	}
	missing, found, err := l.auditOrders(ctx, a, claims)
	if err != nil {
		return err
	}
	if out.ConsumedCapacity != nil {
		a.ReadUnits += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	a.Missing += int64(len(missing))
	a.Findings = append(a.Findings, found[:min(len(found), maxFindings-len(a.Findings))]...)
	l.takeIn(s, a, claims, stranded)
	for _, c := range missing {
		stranded(c)
	}
	if len(out.LastEvaluatedKey) == 0 {
		a.Bucket, a.After = a.Bucket+1, ""
		return nil
	}
	r := reader{item: out.LastEvaluatedKey}
	a.After = r.text(attrSK)
	return foreign(r.err)
}

func (l *Ledger) takeIn(s sale.Sale, a *Audit, claims []sale.Claim, stranded Stranded) {
	now := l.now()
	for _, c := range claims {
		switch {
		case c.Shard < 0 || c.Shard >= s.Shards:
			a.find("user %q: the claim names shard %d of %d (P2)", c.User, c.Shard, s.Shards)
		case sale.BucketOf(c.User, s.Buckets) != a.Bucket:
			a.find("user %q: a claim outside of its bucket (P3)", c.User)
			a.Claims[c.Shard]++
		default:
			a.Claims[c.Shard]++
		}
		if c.State() == sale.Confirmed {
			a.Confirmed++
			if at := orderid.Time(c.OrderID); at.Before(c.AcceptedAt.Add(-clockSkew)) || at.After(now.Add(clockSkew)) {
				a.find("user %q: order %s says %s, the claim is of %s (P7)", c.User, orderid.String(c.OrderID),
					at.Format(time.RFC3339), c.AcceptedAt.Format(time.RFC3339))
			}
			continue
		}
		if a.Pending++; a.Pending == 1 || c.AcceptedAt.Before(a.OldestPending) {
			a.OldestPending = c.AcceptedAt
		}
		if now.Sub(c.AcceptedAt) > ResendGrace {
			stranded(c)
		}
	}
}

// auditOrders looks at the orders of the confirmed claims of a page. An order
// that names its claim belongs to it alone, so ids are unique if all do (P7).
func (l *Ledger) auditOrders(ctx context.Context, a *Audit, claims []sale.Claim) (missing []sale.Claim, found []string, err error) {
	var keys []item
	var asked []sale.Claim
	for _, c := range claims {
		if c.State() == sale.Confirmed && !orderid.Time(c.OrderID).Before(a.OrdersFrom) {
			keys, asked = append(keys, orderKey(c.OrderID)), append(asked, c)
		}
	}
	errs := make([]error, (len(keys)+batchKeys-1)/batchKeys)
	orders := make([]map[identity]item, len(errs))
	each(len(errs), func(i int) {
		orders[i], errs[i] = l.getAll(ctx, keys[i*batchKeys:min((i+1)*batchKeys, len(keys))])
	})
	if err := errors.Join(errs...); err != nil {
		return nil, nil, worst(errs)
	}
	a.ReadUnits += float64(len(keys))
	byID := make(map[uint64]sale.Order, len(keys))
	for _, batch := range orders {
		for _, it := range batch {
			if it == nil {
				continue
			}
			o, err := readOrder(it)
			if err != nil {
				return nil, nil, foreign(err)
			}
			byID[o.ID] = o
		}
	}
	for _, c := range asked {
		o, ok := byID[c.OrderID]
		switch {
		case !ok:
			missing = append(missing, c)
		case o != sale.Order{ID: c.OrderID, SaleID: c.SaleID, User: c.User, ClaimID: c.ID}:
			found = append(found, fmt.Sprintf("user %q: order %s belongs to another claim (P7)", c.User, orderid.String(c.OrderID)))
		}
	}
	return missing, found, nil
}
