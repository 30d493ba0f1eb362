package ledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// get reads one item consistently; nil when there is none.
func (l *Ledger) get(ctx context.Context, key item) (item, error) {
	return l.getWithin(ctx, maxTries, key)
}

func (l *Ledger) getWithin(ctx context.Context, tries int, key item) (item, error) {
	return l.readItem(ctx, tries, key, true)
}

// readItem reads one item; nil when there is none.
func (l *Ledger) readItem(ctx context.Context, tries int, key item, consistent bool) (item, error) {
	var out *dynamodb.GetItemOutput
	err := l.retry(ctx, tries, func(ctx context.Context) (err error) {
		out, err = l.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: l.table, Key: key, ConsistentRead: &consistent})
		return err
	})
	if err != nil {
		return nil, asInternal(err)
	}
	return out.Item, nil
}

// queryAll reads all items of a query consistently, page by page. in needs no table name.
func (l *Ledger) queryAll(ctx context.Context, tries int, in dynamodb.QueryInput) ([]item, error) {
	var all []item
	err := l.queryPages(ctx, tries, in, true, func(page []item) error {
		all = append(all, page...)
		return nil
	})
	return all, err
}

// queryPages passes the items of a query to report, page by page. It fails with report's error,
// too.
func (l *Ledger) queryPages(ctx context.Context, tries int, in dynamodb.QueryInput, consistent bool, report func([]item) error) error {
	in.TableName, in.ConsistentRead = l.table, &consistent
	for {
		page := in // a try that was given up may still read its input
		var out *dynamodb.QueryOutput
		err := l.retry(ctx, tries, func(ctx context.Context) (err error) {
			out, err = l.api.Query(ctx, &page)
			return err
		})
		if err != nil {
			return asInternal(err)
		}
		if err := report(out.Items); err != nil {
			return err
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

var yes = true
