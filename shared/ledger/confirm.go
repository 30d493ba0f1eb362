package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

const (
	// batchKeys is DynamoDB's limit of one BatchGetItem.
	batchKeys = 100
	// atOnce bounds the writes in flight of one batch of confirmations.
	atOnce = 16
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
// answers stand in the order of refs. Calling it again, at once, later or
// concurrently, gives every claim the id it got first (P7, P9); one claim's
// failure touches no other's (P10).
func (l *Ledger) Confirm(ctx context.Context, refs []ClaimRef) []Confirmation {
	out := make([]Confirmation, len(refs))
	claims := make([]sale.Claim, len(refs))
	buckets := make([]int, len(refs))
	each(len(refs), func(i int) {
		s, err := l.existing(ctx, refs[i].SaleID)
		if sale.CodeOf(err) == sale.SaleNotFound {
			err = poisonous(fmt.Errorf("no such sale: %s", refs[i].SaleID))
		}
		if out[i].Err = err; err == nil {
			buckets[i] = sale.BucketOf(refs[i].User, s.Buckets)
		}
	})
	l.readClaims(ctx, refs, buckets, claims, out)

	var pending []int
	for i := range refs {
		if out[i].Err != nil {
			continue
		}
		out[i].AcceptedAt = claims[i].AcceptedAt
		if claims[i].State() == sale.Pending {
			pending = append(pending, i)
		}
	}
	fresh := make([]bool, len(refs)) // has a reserved id, not recorded yet
	ids, err := l.reserve(ctx, len(pending))
	for n, i := range pending {
		if err != nil {
			out[i].Err = err
			continue
		}
		claims[i].OrderID, fresh[i] = ids[n], true
	}
	each(len(refs), func(i int) {
		if out[i].Err != nil {
			return
		}
		id := claims[i].OrderID
		if fresh[i] {
			id, out[i].Err = l.confirm(ctx, claims[i], buckets[i])
			if out[i].Err != nil {
				return
			}
		}
		out[i].New = fresh[i] && id == claims[i].OrderID
		out[i].Order = sale.Order{ID: id, SaleID: refs[i].SaleID, User: refs[i].User, ClaimID: refs[i].ClaimID}
		out[i].Err = l.putOrder(ctx, out[i].Order)
	})
	return out
}

// readClaims reads the claims that refs name, consistently, before anything is
// written: a message about a claim that does not exist must leave no trace, not
// even a gap in the sequence (P10).
func (l *Ledger) readClaims(ctx context.Context, refs []ClaimRef, buckets []int, claims []sale.Claim, out []Confirmation) {
	asked := make(map[string]bool, len(refs))
	keys := make([]item, 0, len(refs))
	for i, ref := range refs {
		k := claimKey(ref.SaleID, buckets[i], ref.User)
		// DynamoDB refuses a key twice; of two claim ids for one user at most
		// one is right.
		if id := identity(k); out[i].Err == nil && !asked[id] {
			asked[id] = true
			keys = append(keys, k)
		}
	}
	found, err := l.batchGet(ctx, keys, true)
	byKey := make(map[string]item, len(found))
	for _, it := range found {
		byKey[identity(it)] = it
	}
	for i, ref := range refs {
		if out[i].Err != nil {
			continue
		}
		if err != nil {
			out[i].Err = err
			continue
		}
		it := byKey[identity(claimKey(ref.SaleID, buckets[i], ref.User))]
		if it == nil {
			out[i].Err = poisonous(errors.New("no such claim"))
			continue
		}
		c, readErr := readClaim(ref.SaleID, it)
		switch {
		case readErr != nil:
			out[i].Err = foreign(readErr)
		case c.ID != ref.ClaimID:
			out[i].Err = poisonous(errors.New("the user holds another claim"))
		}
		claims[i] = c
	}
}

func poisonous(err error) error { return sale.Fail(sale.Poison, err) }

// identity makes a comparable value of a key. No '\x00' can stand in a key part.
func identity(k item) string {
	pk, _ := k[attrPK].(*types.AttributeValueMemberS)
	sk, _ := k[attrSK].(*types.AttributeValueMemberS)
	if pk == nil || sk == nil {
		return ""
	}
	return pk.Value + "\x00" + sk.Value
}

// batchGet reads items in as few calls as the limits allow. Items that do not
// exist are missing from the answer.
func (l *Ledger) batchGet(ctx context.Context, keys []item, consistent bool) ([]item, error) {
	var found []item
	for start := 0; start < len(keys); start += batchKeys {
		left := keys[start:min(start+batchKeys, len(keys))]
		for try := 0; len(left) > 0; try++ {
			if try > 0 && (try >= maxTries || !l.backOff(ctx, try-1)) {
				return nil, sale.Fail(sale.Busy, fmt.Errorf("%d keys stay unprocessed", len(left)))
			}
			var out *dynamodb.BatchGetItemOutput
			err := l.retry(ctx, maxTries, func(ctx context.Context) (err error) {
				out, err = l.api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
					RequestItems: map[string]types.KeysAndAttributes{
						*l.table: {Keys: left, ConsistentRead: &consistent},
					},
				})
				return err
			})
			if err != nil {
				return nil, foreign(err)
			}
			found = append(found, out.Responses[*l.table]...)
			left = out.UnprocessedKeys[*l.table].Keys
		}
	}
	return found, nil
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

// confirm records the claim's order id unless it has one, and returns the one
// it has in the end. A repeat after a lost answer finds its own id there.
func (l *Ledger) confirm(ctx context.Context, c sale.Claim, bucket int) (uint64, error) {
	err := l.retry(ctx, maxTries, func(ctx context.Context) error {
		_, err := l.api.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:           l.table,
			Key:                 claimKey(c.SaleID, bucket, c.User),
			UpdateExpression:    &setOrder,
			ConditionExpression: &ifPending,
			ExpressionAttributeNames: map[string]string{
				"#claimId": "claimId", "#orderId": "orderId",
			},
			ExpressionAttributeValues: item{
				":claimId": str(c.ID), ":orderId": num(int64(c.OrderID)),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return c.OrderID, foreign(err)
	}
	held, err := readClaim(c.SaleID, failed.Item)
	switch {
	case err != nil:
		return 0, foreign(err)
	case held.ID != c.ID:
		return 0, poisonous(errors.New("the user holds another claim"))
	case held.OrderID == 0:
		return 0, foreign(errors.New("a pending claim refused its order id"))
	}
	return held.OrderID, nil
}

var (
	setOrder  = "SET #orderId = :orderId"
	ifPending = "#claimId = :claimId AND attribute_not_exists(#orderId)"
)

// putOrder makes sure that the order item exists. An item that another claim
// put there would be a broken promise (P7), never overwritten.
func (l *Ledger) putOrder(ctx context.Context, o sale.Order) error {
	err := l.retry(ctx, maxTries, func(ctx context.Context) error {
		_, err := l.api.PutItem(ctx, &dynamodb.PutItemInput{
			TableName:                           l.table,
			Item:                                orderItem(o),
			ConditionExpression:                 &ifAbsent,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return foreign(err)
	}
	held, err := readOrder(failed.Item)
	if err == nil && held != o {
		err = fmt.Errorf("order %s belongs to claim %s of sale %s", orderid.String(o.ID), held.ClaimID, held.SaleID)
	}
	return foreign(err)
}

// each calls f for 0…n-1, at most atOnce at a time, and waits for all.
func each(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var wait sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wait.Wait()
}
