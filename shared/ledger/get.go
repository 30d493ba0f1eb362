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
	in.TableName, in.ConsistentRead = l.table, &yes
	for {
		page := in // a try that was given up may still read its input
		var out *dynamodb.QueryOutput
		err := l.retry(ctx, tries, func(ctx context.Context) (err error) {
			out, err = l.api.Query(ctx, &page)
			return err
		})
		if err != nil {
			return nil, asInternal(err)
		}
		all = append(all, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return all, nil
		}
	}
}

var yes = true
