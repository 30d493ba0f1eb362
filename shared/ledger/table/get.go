package table

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// Partition is the query for all items of a partition.
func Partition(pk types.AttributeValue) dynamodb.QueryInput {
	return dynamodb.QueryInput{
		KeyConditionExpression: aws.String("#pk = :pk"), ExpressionAttributeNames: map[string]string{"#pk": PK},
		ExpressionAttributeValues: Item{":pk": pk},
	}
}

// Filtered is the query for the items of a partition that a filter lets through.
func Filtered(pk types.AttributeValue, filter string, values Item) dynamodb.QueryInput {
	in := Partition(pk)
	in.FilterExpression, in.ExpressionAttributeNames = &filter, NamesIn(*in.KeyConditionExpression, filter)
	maps.Copy(in.ExpressionAttributeValues, values)
	return in
}

// Headed is the query for the items of a partition whose sort key begins with head.
func Headed(pk types.AttributeValue, head string) dynamodb.QueryInput {
	return dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("#pk = :pk AND begins_with(#sk, :head)"),
		ExpressionAttributeNames:  map[string]string{"#pk": PK, "#sk": SK},
		ExpressionAttributeValues: Item{":pk": pk, ":head": S(head)},
	}
}

// QueryPage reads the page of a partition after that sort key, or its first page if that is "",
// consistently.
func (t *Table) QueryPage(ctx context.Context, in dynamodb.QueryInput, after string) (*dynamodb.QueryOutput, error) {
	in.TableName, in.ConsistentRead = t.Name, aws.Bool(true)
	if after != "" {
		in.ExclusiveStartKey = Item{PK: in.ExpressionAttributeValues[":pk"], SK: S(after)}
	}
	var out *dynamodb.QueryOutput
	err := t.Retry(ctx, PatientTries, func(ctx context.Context) (err error) {
		out, err = t.API.Query(ctx, &in)
		return err
	})
	return out, sale.AsInternal(err)
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
func (t *Table) QueryPages(
	ctx context.Context, tries int, in dynamodb.QueryInput, consistent bool, report func([]Item) error,
) error {
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
