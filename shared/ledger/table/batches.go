package table

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"flashsale/shared/invocation"
	"flashsale/shared/sale"
)

const (
	// BatchKeys is DynamoDB's limit for one BatchGetItem.
	BatchKeys = 100
	// MaxStatements is DynamoDB's limit for one BatchExecuteStatement.
	MaxStatements = 25
	// AtOnce bounds the calls in flight of one operation.
	AtOnce = 16
)

// BatchGet reads items in as few calls as the limits allow, each with that many tries.
// Items that do not exist are missing from the result.
func (t *Table) BatchGet(ctx context.Context, most int, keys []Item, consistent bool) ([]Item, error) {
	var found []Item
	for start := 0; start < len(keys); start += BatchKeys {
		unread := keys[start:min(start+BatchKeys, len(keys))]
		for left := t.UpTo(most); len(unread) > 0; {
			var out *dynamodb.BatchGetItemOutput
			err := t.Retry(ctx, most, func(ctx context.Context) (err error) {
				out, err = t.API.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
					RequestItems: map[string]types.KeysAndAttributes{
						*t.Name: {Keys: unread, ConsistentRead: &consistent},
					},
				})
				return err
			})
			if err != nil {
				return nil, sale.AsInternal(err)
			}
			found = append(found, out.Responses[*t.Name]...)
			unread = out.UnprocessedKeys[*t.Name].Keys
			if len(unread) > 0 && !left.Again(ctx) {
				return nil, sale.Fail(sale.Busy, fmt.Errorf("%d keys stay unprocessed", len(unread)))
			}
		}
	}
	return found, nil
}

// GetTogether reads up to 100 items as they are at one instant, in the order of their keys, each nil if there is
// none. It makes one try, and fails with sale.Busy, also if a write of one of them is under way, or sale.Internal.
func (t *Table) GetTogether(ctx context.Context, keys []Item) ([]Item, error) {
	reads := make([]types.TransactGetItem, len(keys))
	for i, k := range keys {
		reads[i].Get = &types.Get{TableName: t.Name, Key: k}
	}
	var out *dynamodb.TransactGetItemsOutput
	err := Attempt(ctx, func(ctx context.Context) (err error) {
		out, err = t.API.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: reads})
		return err
	})
	switch o := Judge(err); {
	case o == Contended || o == Unknown || o == Cancelled && isContended(err, len(keys)):
		return nil, sale.Fail(sale.Busy, err)
	case err != nil:
		return nil, sale.AsInternal(err)
	case len(out.Responses) != len(keys):
		return nil, sale.AsInternal(fmt.Errorf("read together: %d responses to %d keys", len(out.Responses), len(keys)))
	}
	items := make([]Item, len(keys))
	for i, r := range out.Responses {
		if len(r.Item) > 0 {
			items[i] = r.Item
		}
	}
	return items, nil
}

// GetAll reads items consistently, each once even if its key is repeated; it reorders
// keys for that. An item that does not exist is nil in the result.
func (t *Table) GetAll(ctx context.Context, keys []Item) (map[Identity]Item, error) {
	items := make(map[Identity]Item, len(keys))
	asked := keys[:0]
	for _, k := range keys {
		items[IdentityOf(k)] = nil
		if len(items) > len(asked) { // DynamoDB refuses duplicate keys
			asked = append(asked, k)
		}
	}
	found, err := t.BatchGet(ctx, PatientTries, asked, true)
	if err != nil {
		return nil, err
	}
	for _, it := range found {
		items[IdentityOf(it)] = it
	}
	return items, nil
}

// Execute runs up to MaxStatements writes of different items in one call. Only those
// with contention or an unknown outcome are tried again, by the rules of retry. It
// returns one error per statement: nil, types.ConditionalCheckFailedException,
// types.DuplicateItemException, sale.Busy when the tries or the time have run out, or
// the error that no retry can cure.
func (t *Table) Execute(ctx context.Context, all []types.BatchStatementRequest) []error {
	if len(all) == 0 {
		return nil
	}
	errs := t.executeOnce(ctx, all)
	left := Tries{table: t, most: PatientTries, starving: true}
	for {
		var again []int // positions
		for i, err := range errs {
			if o := Judge(err); o == Contended || o == Unknown {
				again = append(again, i)
			}
		}
		if len(again) == 0 {
			return errs
		}
		if !left.Again(ctx) {
			for _, i := range again {
				errs[i] = sale.Fail(sale.Busy, errs[i])
			}
			return errs
		}
		batch := make([]types.BatchStatementRequest, len(again))
		for n, i := range again {
			batch[n] = all[i]
		}
		for n, err := range t.executeOnce(ctx, batch) {
			errs[again[n]] = err
		}
	}
}

// executeOnce makes one call and returns each statement's result.
func (t *Table) executeOnce(ctx context.Context, batch []types.BatchStatementRequest) []error {
	var out *dynamodb.BatchExecuteStatementOutput
	err := Attempt(ctx, func(ctx context.Context) (err error) {
		out, err = t.API.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: batch})
		return err
	})
	if err == nil && len(out.Responses) != len(batch) {
		err = sale.AsInternal(fmt.Errorf("read batch: %d responses to %d statements", len(out.Responses), len(batch)))
	}
	errs := make([]error, len(batch))
	for i := range errs {
		if errs[i] = err; err == nil {
			errs[i] = statementError(out.Responses[i].Error)
		}
	}
	return errs
}

// statementError converts a statement's error to the exception that a single write
// would get, so that judge handles both.
func statementError(e *types.BatchStatementError) error {
	if e == nil {
		return nil
	}
	switch e.Code {
	case types.BatchStatementErrorCodeEnumConditionalCheckFailed:
		return &types.ConditionalCheckFailedException{Message: e.Message, Item: e.Item}
	case types.BatchStatementErrorCodeEnumDuplicateItem:
		return &types.DuplicateItemException{Message: e.Message}
	}
	return &smithy.GenericAPIError{Code: string(e.Code), Message: aws.ToString(e.Message)}
}

// Each calls f for 0…n-1, at most AtOnce at a time, and waits for all.
func Each(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var wait invocation.Group
	slots := make(chan struct{}, AtOnce)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wait.Wait()
}

// EachOf calls f as Each does, and returns the error that matters most, see Worst.
func EachOf(of string, n int, f func(i int) error) error {
	errs := make([]error, n)
	Each(n, func(i int) { errs[i] = f(i) })
	return Worst(of, errs)
}

// Worst returns the error that matters most, anything before sale.Busy, with the number of
// the shard, or whatever else it is of.
func Worst(of string, errs []error) error {
	var busy error
	for k, err := range errs {
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s %d: %w", of, k, err)
		if sale.CodeOf(err) != sale.Busy {
			return err
		}
		busy = err
	}
	return busy
}
