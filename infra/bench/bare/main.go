// Command bare is the least that a purchase function could be: aws-lambda-go, the
// two clients, and the calls of an accepted purchase with inputs written down
// here. Its cold start is what that of the real function is held against.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	table, queue := dynamodb.NewFromConfig(cfg), sqs.NewFromConfig(cfg)
	name, url := aws.String(os.Getenv("TABLE_NAME")), aws.String(os.Getenv("ORDER_QUEUE_URL"))
	lambda.Start(func(ctx context.Context, _ json.RawMessage) (map[string]int, error) {
		if _, err := table.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: key("SALE#moutai", "SALE")}); err != nil {
			return nil, err
		}
		if _, err := table.TransactWriteItems(ctx, purchase(name)); err != nil {
			return nil, err
		}
		message := &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String(`{"v":1,"saleId":"moutai","user":"alice","claimId":"C"}`)}
		if _, err := queue.SendMessage(ctx, message); err != nil {
			return nil, err
		}
		return map[string]int{"statusCode": 202}, nil
	})
}

func purchase(table *string) *dynamodb.TransactWriteItemsInput {
	return &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Update: &types.Update{
			TableName:                 table,
			Key:                       key("STOCK#moutai#7", "STOCK"),
			UpdateExpression:          aws.String("SET stock = stock - :one"),
			ConditionExpression:       aws.String("stock >= :one"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
		}},
		{Put: &types.Put{
			TableName:           table,
			Item:                key("CLAIM#moutai#3", "alice"),
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}},
	}}
}

func key(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk},
	}
}
