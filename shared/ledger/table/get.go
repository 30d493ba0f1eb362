package table

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"flashsale/shared/sale"
)

// Get reads one item consistently; nil when there is none.
func (t *Table) Get(ctx context.Context, key Item) (Item, error) {
	return t.GetWithin(ctx, MaxTries, key)
}

func (t *Table) GetWithin(ctx context.Context, tries int, key Item) (Item, error) {
	return t.ReadItem(ctx, tries, key, true)
}

// ReadItem reads one item; nil when there is none.
func (t *Table) ReadItem(ctx context.Context, tries int, key Item, consistent bool) (Item, error) {
	var out *dynamodb.GetItemOutput
	err := t.Retry(ctx, tries, func(ctx context.Context) (err error) {
		out, err = t.API.GetItem(ctx, &dynamodb.GetItemInput{TableName: t.Name, Key: key, ConsistentRead: &consistent})
		return err
	})
	if err != nil {
		return nil, sale.AsInternal(err)
	}
	return out.Item, nil
}

// QueryAll reads all items of a query consistently, page by page. in needs no table name.
func (t *Table) QueryAll(ctx context.Context, tries int, in dynamodb.QueryInput) ([]Item, error) {
	var all []Item
	err := t.QueryPages(ctx, tries, in, true, func(page []Item) error {
		all = append(all, page...)
		return nil
	})
	return all, err
}

// QueryPages passes the items of a query to report, page by page. It fails with report's error,
// too.
func (t *Table) QueryPages(ctx context.Context, tries int, in dynamodb.QueryInput, consistent bool, report func([]Item) error) error {
	in.TableName, in.ConsistentRead = t.Name, &consistent
	for {
		page := in // a try that was given up may still read its input
		var out *dynamodb.QueryOutput
		err := t.Retry(ctx, tries, func(ctx context.Context) (err error) {
			out, err = t.API.Query(ctx, &page)
			return err
		})
		if err != nil {
			return sale.AsInternal(err)
		}
		if err := report(out.Items); err != nil {
			return err
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}
