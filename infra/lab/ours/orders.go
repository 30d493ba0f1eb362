package ours

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/lab/shop"
	"flashsale/infra/local/engine"
)

// orders are the sale's claims: a claim is committed with its unit, and is the
// durable record from which everything else follows.
func orders(ctx context.Context, p shop.Place) (all []shop.Order, err error) {
	err = again(ctx, func() error {
		all, err = claims(ctx, p)
		return err
	})
	return all, err
}

func claims(ctx context.Context, p shop.Place) ([]shop.Order, error) {
	pages := dynamodb.NewScanPaginator(engine.Client(p.DynamoDB), &dynamodb.ScanInput{
		TableName: &p.Table, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("begins_with(pk, :claims)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":claims": &types.AttributeValueMemberS{Value: "CLAIM#" + p.Sale + "#"}},
	})
	var all []shop.Order
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("read claims: %w", err)
		}
		for _, item := range page.Items {
			user, ok := item["sk"].(*types.AttributeValueMemberS)
			if !ok {
				return nil, fmt.Errorf("read claims: %v names no user", item)
			}
			all = append(all, shop.Order{User: user.Value})
		}
	}
	return all, nil
}
