package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// ClaimRef names a claim. Its parts must have passed sale.ValidID and
// sale.ValidUser.
type ClaimRef struct{ SaleID, User, ClaimID string }

// Confirmation is what became of one claim.
type Confirmation struct {
	Order sale.Order
	// AcceptedAt is when the claim was made.
	AcceptedAt time.Time
	// New tells that this call gave the claim its order id.
	New bool
	// Err is nil when the order stands; else sale.Poison (no such sale, no such
	// claim, another claim: nothing was written), sale.Busy or sale.Internal.
	Err error
}

// Confirm gives each claim its order id and makes sure of its order item. The
// answers stand in the order of refs; of equal refs the first is New. Calling
// it again, at once, later or concurrently, gives every claim the id it got
// first (P7, P9); one claim's failure touches no other's (P10).
//
// Every 25 claims cost the same four calls: one read of the claims, one
// reservation, one batch for the ids and one for the orders. What was confirmed
// before, and an engine that tells no reasons, cost one read more per batch.
func (l *Ledger) Confirm(ctx context.Context, refs []ClaimRef) []Confirmation {
	all := make([]*confirming, 0, len(refs))
	// A claim stands in a batch once: DynamoDB refuses a whole batch for an
	// item in it twice.
	byRef := make(map[ClaimRef]*confirming, len(refs))
	for _, ref := range refs {
		if byRef[ref] == nil {
			c := &confirming{ref: ref}
			byRef[ref], all = c, append(all, c)
		}
	}
	for batch := range slices.Chunk(all, maxStatements) {
		l.locate(ctx, batch)
		l.readClaims(ctx, standing(batch))
		l.giveIDs(ctx, standing(batch))
		l.putOrders(ctx, standing(batch))
	}
	out := make([]Confirmation, len(refs))
	for i, ref := range refs {
		out[i] = byRef[ref].Confirmation
		byRef[ref].New = false
	}
	return out
}

// confirming is one claim on its way to its order.
type confirming struct {
	Confirmation
	ref   ClaimRef
	key   item // of the claim
	claim sale.Claim
}

// standing are those that nothing stopped so far.
func standing(batch []*confirming) []*confirming {
	return slices.DeleteFunc(slices.Clone(batch), func(c *confirming) bool { return c.Err != nil })
}

func failAll(batch []*confirming, err error) {
	for _, c := range batch {
		c.Err = err
	}
}

// learn takes over the claim as it lies in the table; nil is none.
func (c *confirming) learn(it item) {
	if it == nil {
		c.Err = poisonous(errors.New("no such claim"))
		return
	}
	held, err := readClaim(c.ref.SaleID, it)
	switch {
	case err != nil:
		c.Err = foreign(err)
	case held.ID != c.ref.ClaimID:
		c.Err = poisonous(errors.New("the user holds another claim"))
	default:
		c.claim, c.AcceptedAt = held, held.AcceptedAt
	}
}

func poisonous(err error) error { return sale.Fail(sale.Poison, err) }

// locate finds each claim's key: its sale knows the bucket. A batch is of one
// sale nearly always, and that one is known: nothing is gained by reading several
// at once, and one after the other keeps a run repeatable.
func (l *Ledger) locate(ctx context.Context, batch []*confirming) {
	type found struct {
		sale sale.Sale
		err  error
	}
	sales := make(map[string]found, 1)
	for _, c := range batch {
		f, known := sales[c.ref.SaleID]
		if !known {
			f.sale, f.err = l.existing(ctx, c.ref.SaleID)
			if sale.CodeOf(f.err) == sale.SaleNotFound {
				f.err = poisonous(fmt.Errorf("no such sale: %s", c.ref.SaleID))
			}
			sales[c.ref.SaleID] = f
		}
		if c.Err = f.err; c.Err == nil {
			c.key = claimKey(f.sale.ID, sale.BucketOf(c.ref.User, f.sale.Buckets), c.ref.User)
		}
	}
}

// readClaims reads claims consistently. That happens before anything is
// written: a message about a claim that does not exist must leave no trace, not
// even a gap in the sequence (P10).
func (l *Ledger) readClaims(ctx context.Context, batch []*confirming) {
	keys := make([]item, len(batch))
	for i, c := range batch {
		keys[i] = c.key
	}
	// Of two claim ids for one user at most one is right.
	found, err := l.batchGet(ctx, distinct(keys), true)
	if err != nil {
		failAll(batch, err)
		return
	}
	byKey := byIdentity(found)
	for i, c := range batch {
		c.learn(byKey[identity(keys[i])])
	}
}

// giveIDs records an order id on every claim that has none. A repeat after a
// lost answer finds its own id there; one that another finalizer confirmed
// meanwhile keeps that id.
func (l *Ledger) giveIDs(ctx context.Context, batch []*confirming) {
	var pending []*confirming
	for _, c := range batch {
		if c.claim.State() == sale.Pending {
			pending = append(pending, c)
		}
	}
	ids, err := l.reserve(ctx, len(pending))
	if err != nil {
		failAll(pending, err)
		return
	}
	updates := make([]types.BatchStatementRequest, len(pending))
	for i, c := range pending {
		updates[i] = l.statements.setOrder(c.key, c.ref.ClaimID, ids[i])
	}
	var untold []*confirming
	for i, err := range l.execute(ctx, updates) {
		c := pending[i]
		failed, refused := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case err == nil:
			c.claim.OrderID = ids[i]
		case !refused:
			c.Err = foreign(err)
		case failed.Item != nil:
			c.learn(failed.Item)
		default: // not every engine says what stood in the way
			untold = append(untold, c)
		}
	}
	l.readClaims(ctx, untold)
	for i, c := range pending {
		if c.Err == nil && c.claim.OrderID == 0 {
			c.Err = foreign(errors.New("a pending claim refused its order id"))
		}
		c.New = c.Err == nil && c.claim.OrderID == ids[i]
	}
}

// putOrders makes sure that the order items exist. An item that another claim
// put there would be a broken promise (P7), never overwritten.
func (l *Ledger) putOrders(ctx context.Context, batch []*confirming) {
	var fresh, there []*confirming
	var inserts []types.BatchStatementRequest
	taken := make(map[uint64]bool, len(batch))
	for _, c := range batch {
		id := c.claim.OrderID
		c.Order = sale.Order{ID: id, SaleID: c.ref.SaleID, User: c.ref.User, ClaimID: c.ref.ClaimID}
		if taken[id] { // broken books; they must not cost the whole batch
			there = append(there, c)
			continue
		}
		taken[id] = true
		fresh, inserts = append(fresh, c), append(inserts, l.statements.insertOrder(c.Order))
	}
	for i, err := range l.execute(ctx, inserts) {
		if _, duplicate := errors.AsType[*types.DuplicateItemException](err); duplicate {
			there = append(there, fresh[i])
			continue
		}
		fresh[i].Err = foreign(err)
	}
	l.checkOrders(ctx, there)
}

// checkOrders makes sure that the orders that exist already are these claims'.
func (l *Ledger) checkOrders(ctx context.Context, there []*confirming) {
	keys := make([]item, len(there))
	for i, c := range there {
		keys[i] = orderKey(c.Order.ID)
	}
	found, err := l.batchGet(ctx, distinct(keys), true)
	if err != nil {
		failAll(there, err)
		return
	}
	byKey := byIdentity(found)
	for i, c := range there {
		held, err := readOrder(byKey[identity(keys[i])])
		if err == nil && held != c.Order {
			err = fmt.Errorf("order %s belongs to claim %s of sale %s", orderid.String(c.Order.ID), held.ClaimID, held.SaleID)
		}
		c.Err = foreign(err)
	}
}

// reserve takes a block of n order ids in one write. The ids' second and their
// sequence's day come from one instant. A lost answer burns a block: gaps are
// allowed, doubles are not.
func (l *Ledger) reserve(ctx context.Context, n int) ([]uint64, error) {
	if n == 0 {
		return nil, nil
	}
	now := l.now()
	var out *dynamodb.UpdateItemOutput
	err := l.retry(ctx, maxTries, func(ctx context.Context) (err error) {
		out, err = l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:                 l.table,
			Key:                       sequenceKey(orderid.Day(now)),
			UpdateExpression:          &advance,
			ExpressionAttributeNames:  map[string]string{"#next": "next"},
			ExpressionAttributeValues: item{":n": num(int64(n))},
			ReturnValues:              types.ReturnValueUpdatedNew,
		})
		return err
	})
	if err != nil {
		return nil, foreign(err)
	}
	r := reader{item: out.Attributes}
	last := r.number("next")
	if r.err != nil {
		return nil, foreign(r.err)
	}
	ids := make([]uint64, n)
	for i := range ids {
		if ids[i], err = orderid.New(now, uint64(last-int64(n)+int64(i)+1)); err != nil {
			return nil, foreign(err)
		}
	}
	return ids, nil
}

var advance = "ADD #next :n"
