package handler

import (
	"context"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger/dynamotest"
)

func addStock(ctx context.Context, db *dynamotest.DB, saleID string, units int) error {
	_, err := db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String("Ledger"), UpdateExpression: aws.String("ADD stock :n"),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "STOCK#" + saleID + "#0"}, "sk": &types.AttributeValueMemberS{Value: "STOCK"},
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: strconv.Itoa(units)}},
	})
	return err
}
