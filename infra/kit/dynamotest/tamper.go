package dynamotest

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tamper adds n to a number attribute of an item with string keys pk and sk,
// behind the back of whatever is under test: to show that an audit notices.
func (db *DB) Tamper(ctx context.Context, table, pk, sk, attribute string, n int64) error {
	_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table,
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
		},
		UpdateExpression:          aws.String("ADD #a :n"),
		ExpressionAttributeNames:  map[string]string{"#a": attribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}},
	})
	if err != nil {
		return fmt.Errorf("tamper with %s %s: %w", pk, sk, err)
	}
	return nil
}
