package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/table"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// ClaimRef names a claim. Its parts must have passed sale.ValidID and
// sale.ValidUser.
type ClaimRef struct {
	SaleID, User, ClaimID string
	// Buckets is its sale's number of buckets; if it is 0, the sale is read.
	Buckets int
}

// Confirmation is the result for one claim.
type Confirmation struct {
	Order sale.Order
	// AcceptedAt is when the claim was made, Shard which one sold it its Units, 0 for one, and RequestKey its
	// request's, or "".
	AcceptedAt time.Time
	Shard      int
	Units      int64
	RequestKey string
	// New: this call gave the claim its order id.
	New bool
	// Err is nil when the order exists; otherwise sale.Poison (no such sale, no such
	// claim, another claim: nothing was written), sale.Busy or sale.Internal.
	Err error
}

// Confirm gives each claim its order id and ensures that its order item exists. The
// results are in the order of refs; of equal refs the first is New. Calling it again,
// later or concurrently, returns the id that each claim got first (P7, P9); one claim's
// failure does not affect the others (P10).
//
// Each batch of up to 25 claims costs four calls: one read of the claims, one
// reservation, one batch for the ids and one for the orders. Claims that were
// confirmed before, and an engine that returns no item with a failure, cost one
// more read per batch.
//
// A crowd can exhaust a table for longer than the tries of one call last, and a failed
// message comes back only after its visibility timeout. So claims that are Busy after all
// batches are confirmed again from the start, as for a redelivered message, until the time
// of ctx is up (P16). The other claims have their orders by then (P10).
func (l *Ledger) Confirm(ctx context.Context, refs []ClaimRef) []Confirmation {
	out := l.confirmAll(ctx, refs)
	if _, limited := ctx.Deadline(); !limited {
		return out
	}
	positions := busy(out)
	for ; len(positions) > 0 && l.table.BackOffUpTo(ctx, table.StarvedCap, table.PatientTries); positions = busy(out) {
		again := make([]ClaimRef, len(positions))
		for n, i := range positions {
			again[n] = refs[i]
		}
		for n, c := range l.confirmAll(ctx, again) {
			i := positions[n]
			c.New = c.New || out[i].New
			out[i] = c
		}
	}
	return out
}

// busy returns the positions of the results with sale.Busy.
func busy(results []Confirmation) (positions []int) {
	for i, c := range results {
		if c.Err != nil && sale.CodeOf(c.Err) == sale.Busy {
			positions = append(positions, i)
		}
	}
	return positions
}

// confirmAll confirms claims in batches, once.
func (l *Ledger) confirmAll(ctx context.Context, refs []ClaimRef) []Confirmation {
	out := make([]Confirmation, len(refs))
	for start := 0; start < len(refs); start += table.MaxStatements {
		end := min(start+table.MaxStatements, len(refs))
		l.confirm(ctx, refs[start:end], out[start:end])
	}
	return out
}

// confirm confirms the claims of one batch.
func (l *Ledger) confirm(ctx context.Context, refs []ClaimRef, out []Confirmation) {
	left := make([]*confirming, 0, len(refs))
	first := make([]int, len(refs)) // index of the first ref to the same claim
	for i := range refs {
		// Each claim is in a batch once: DynamoDB refuses a whole batch for a duplicate
		// item.
		if first[i] = refs[i].first(refs); first[i] == i {
			left = append(left, &confirming{Confirmation: &out[i], ref: &refs[i]})
		}
	}
	l.loadClaims(ctx, left)
	left = withoutFailed(left)
	l.giveIDs(ctx, left)
	left = withoutFailed(left)
	l.putOrders(ctx, left)
	for i, before := range first {
		if before != i {
			out[i] = out[before]
			out[i].New = false
		}
	}
}

// first returns the index of the first ref to the same claim, ignoring Buckets. At
// most 25 refs are compared, so a scan is faster than a map.
func (r *ClaimRef) first(refs []ClaimRef) int {
	return slices.IndexFunc(refs, func(other ClaimRef) bool {
		return other.ClaimID == r.ClaimID && other.User == r.User && other.SaleID == r.SaleID
	})
}

// confirming is one claim being confirmed.
type confirming struct {
	*Confirmation
	ref      *ClaimRef
	storedID uint64 // the order id on the claim, 0 while it is pending
	pk       string // of the claim
}

func (c *confirming) identity() table.Identity { return table.Identity{PK: c.pk, SK: c.ref.User} }

// withoutFailed drops, in place, the claims that have failed.
func withoutFailed(batch []*confirming) []*confirming {
	return slices.DeleteFunc(batch, func(c *confirming) bool { return c.Err != nil })
}

func failAll(batch []*confirming, err error) {
	for _, c := range batch {
		c.Err = err
	}
}

// load copies the stored claim; a nil item means that there is none.
func (c *confirming) load(it table.Item) {
	if it == nil {
		c.Err = errNoClaim
		return
	}
	held, err := table.ReadClaim(c.ref.SaleID, c.ref.Buckets, it)
	switch {
	case err != nil:
		c.Err = sale.AsInternal(err)
	case held.ID != c.ref.ClaimID:
		c.Err = poisonous(errors.New("the user holds another claim"))
	default:
		c.AcceptedAt, c.Shard, c.Units, c.RequestKey = held.AcceptedAt, held.Shard, held.Units, held.RequestKey
		c.storedID = held.OrderID
	}
}

// errNoClaim is the error of a message whose claim does not exist. No repeat of such a
// message can succeed, so it is poison and ends in the dead-letter queue (P10).
var errNoClaim = poisonous(errors.New("no such claim"))

func poisonous(err error) error { return sale.Fail(sale.Poison, err) }

// loadClaims reads the claims. If a ref says how many buckets its sale has, the sale is
// not read first: a whole crowd reads that item, and a cold environment would have to
// wait for it. A claim that is not found by the ref's buckets is looked up again by the
// sale's before it counts as missing.
func (l *Ledger) loadClaims(ctx context.Context, batch []*confirming) {
	var unknown []*confirming
	for _, c := range batch {
		if c.ref.Buckets > 0 {
			c.setKey(c.ref.Buckets)
		} else {
			unknown = append(unknown, c)
		}
	}
	l.readKeys(ctx, unknown)
	l.readClaims(ctx, withoutFailed(slices.Clone(batch)))
	unknown = unknown[:0]
	for _, c := range batch {
		if c.Err == errNoClaim && c.ref.Buckets > 0 {
			c.Err = nil
			unknown = append(unknown, c)
		}
	}
	l.readKeys(ctx, unknown)
	l.readClaims(ctx, withoutFailed(unknown))
}

// setKey fills in the claim's table key.
func (c *confirming) setKey(buckets int) {
	c.pk = table.ClaimPK(c.ref.SaleID, sale.BucketOf(c.ref.User, buckets))
}

// readKeys reads each claim's sale, which says how many buckets it has, and sets the
// claim's key. A batch nearly always belongs to one cached sale, so sales are read one
// by one, which also keeps simulations reproducible.
func (l *Ledger) readKeys(ctx context.Context, batch []*confirming) {
	type found struct {
		sale sale.Sale
		err  error
	}
	sales := map[string]found{}
	for _, c := range batch {
		f, known := sales[c.ref.SaleID]
		if !known {
			f.sale, f.err = l.existing(ctx, table.PatientTries, c.ref.SaleID)
			if sale.CodeOf(f.err) == sale.SaleNotFound {
				f.err = poisonous(fmt.Errorf("no such sale: %s", c.ref.SaleID))
			}
			sales[c.ref.SaleID] = f
		}
		if c.Err = f.err; c.Err == nil {
			c.setKey(f.sale.Buckets)
		}
	}
}

// readClaims reads claims consistently, before anything is written: a message about a
// claim that does not exist must leave no trace, not even a gap in the sequence (P10).
func (l *Ledger) readClaims(ctx context.Context, batch []*confirming) {
	if len(batch) == 0 {
		return
	}
	keys := make([]table.Item, len(batch))
	for i, c := range batch {
		keys[i] = table.Key(c.pk, c.ref.User)
	}
	// Refs may have different claim ids for one user, so keys may be repeated.
	stored, err := l.table.GetAll(ctx, keys)
	if err != nil {
		failAll(batch, err)
		return
	}
	for _, c := range batch {
		c.load(stored[c.identity()])
	}
}

// giveIDs records an order id on every claim that has none. A retry after a lost answer
// finds its own id there; a claim that another finalizer has confirmed keeps that id.
func (l *Ledger) giveIDs(ctx context.Context, batch []*confirming) {
	pending := make([]*confirming, 0, len(batch))
	for _, c := range batch {
		if c.storedID == 0 {
			pending = append(pending, c)
		}
	}
	ids, err := l.ReserveOrderIDs(ctx, len(pending))
	if err != nil {
		failAll(pending, err)
		return
	}
	updates := make([]types.BatchStatementRequest, len(pending))
	for i, c := range pending {
		updates[i] = l.statements.setOrder(c, ids[i])
	}
	var unreturned []*confirming
	for i, err := range l.table.Execute(ctx, updates) {
		c := pending[i]
		failed, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case err == nil:
			c.storedID = ids[i]
		case !refused:
			c.Err = sale.AsInternal(err)
		case failed.Item != nil:
			c.load(failed.Item)
		default: // not every engine returns the item
			unreturned = append(unreturned, c)
		}
	}
	l.readClaims(ctx, unreturned)
	for i, c := range pending {
		if c.Err == nil && c.storedID == 0 {
			c.Err = sale.AsInternal(errors.New("a pending claim refused its order id"))
		}
		c.New = c.Err == nil && c.storedID == ids[i]
	}
}

// putOrders ensures that the order items exist. An existing item of another claim would
// break P7 and is never overwritten.
func (l *Ledger) putOrders(ctx context.Context, batch []*confirming) {
	fresh := make([]*confirming, 0, len(batch))
	inserts := make([]types.BatchStatementRequest, 0, len(batch))
	taken := make([]uint64, 0, table.MaxStatements)
	var existing []*confirming
	for _, c := range batch {
		c.Order = sale.Order{ID: c.storedID, SaleID: c.ref.SaleID, User: c.ref.User, ClaimID: c.ref.ClaimID}
		if slices.Contains(taken, c.storedID) {
			// Two claims have one order id, which violates P7; the other claims must
			// still succeed, and DynamoDB refuses a batch with a duplicate item.
			existing = append(existing, c)
			continue
		}
		taken = append(taken, c.storedID)
		fresh, inserts = append(fresh, c), append(inserts, l.statements.insertOrder(c))
	}
	for i, err := range l.table.Execute(ctx, inserts) {
		if _, duplicate := errors.AsType[*types.DuplicateItemException](err); duplicate {
			existing = append(existing, fresh[i])
			continue
		}
		fresh[i].Err = sale.AsInternal(err)
	}
	l.checkOrders(ctx, existing)
}

// checkOrders checks that the existing orders belong to these claims.
func (l *Ledger) checkOrders(ctx context.Context, existing []*confirming) {
	keys := make([]table.Item, len(existing))
	for i, c := range existing {
		keys[i] = table.OrderKey(c.Order.ID)
	}
	stored, err := l.table.GetAll(ctx, keys)
	if err != nil {
		failAll(existing, err)
		return
	}
	for _, c := range existing {
		o, err := table.ReadOrder(stored[table.Identity{PK: table.OrderPK(c.Order.ID), SK: table.OrderSK}])
		if err == nil && o != c.Order {
			err = fmt.Errorf("order %s belongs to claim %s of sale %s", orderid.String(c.Order.ID), o.ClaimID, o.SaleID)
		}
		c.Err = sale.AsInternal(err)
	}
}

// setOrder records the order id of a claim, unless it has one or has another claim id.
func (s statements) setOrder(c *confirming, id uint64) types.BatchStatementRequest {
	return types.BatchStatementRequest{
		Statement: s.setOrderText,
		Parameters: []types.AttributeValue{
			&types.AttributeValueMemberN{Value: orderid.String(id)}, table.S(c.pk), table.S(c.ref.User), table.S(c.ref.ClaimID),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// insertOrder puts the order item of a claim unless there is one.
func (s statements) insertOrder(c *confirming) types.BatchStatementRequest {
	return types.BatchStatementRequest{Statement: s.insertOrderText, Parameters: []types.AttributeValue{
		table.S(table.OrderPK(c.storedID)), table.S(table.OrderSK),
		table.S(c.ref.SaleID), table.S(c.ref.User), table.S(c.ref.ClaimID),
	}}
}
