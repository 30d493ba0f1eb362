// Command bare is the minimal purchase function: aws-lambda-go, the two clients, and
// the calls of an accepted purchase: the sale once, then one transaction and one
// message for each event. It has no retries, caches and logs. It is the baseline for
// the real function's cold starts.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
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
	// The SDK's token slows the engine down, and a purchase does not need it.
	table := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.IdempotencyTokenProvider = nil })
	queue := sqs.NewFromConfig(cfg)
	name, url := aws.String(os.Getenv("TABLE_NAME")), aws.String(os.Getenv("ORDER_QUEUE_URL"))
	var look sync.Once
	lambda.Start(func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		user, saleID, claim := e.RequestContext.Authorizer.JWT.Claims["sub"], e.PathParameters["saleId"], rand.Text()
		message := fmt.Sprintf(`{"v":1,"saleId":%q,"user":%q,"claimId":%q}`, saleID, user, claim)
		var err error
		look.Do(func() {
			key := map[string]types.AttributeValue{"pk": text("SALE#" + saleID), "sk": text("SALE")}
			_, err = table.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: key, ConsistentRead: aws.Bool(true)})
		})
		if err == nil {
			_, err = table.TransactWriteItems(ctx, purchase(name, saleID, user, claim, time.Now().UnixMilli()))
		}
		if err == nil {
			_, err = queue.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: &message})
		}
		return events.APIGatewayV2HTTPResponse{
			StatusCode: 202, Headers: map[string]string{"Content-Type": "application/json"},
			Body: fmt.Sprintf(`{"claimId":%q,"saleId":%q,"state":"PENDING"}`, claim, saleID),
		}, err
	})
}

// purchase is a transaction with the size and the conditions of the ledger's, on the first shard.
func purchase(table *string, saleID, user, claim string, now int64) *dynamodb.TransactWriteItemsInput {
	return &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Update: &types.Update{
			TableName:                table,
			Key:                      map[string]types.AttributeValue{"pk": text("STOCK#" + saleID + "#0"), "sk": text("STOCK")},
			UpdateExpression:         aws.String("SET #stock = #stock - :one"),
			ConditionExpression:      aws.String("#stock > :zero AND #opensAt <= :now AND #closesAt > :now AND #paused = :no"),
			ExpressionAttributeNames: map[string]string{"#stock": "stock", "#opensAt": "opensAt", "#closesAt": "closesAt", "#paused": "paused"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":one": number(1), ":zero": number(0), ":now": number(now), ":no": &types.AttributeValueMemberBOOL{},
			},
		}},
		{Put: &types.Put{
			TableName: table,
			Item: map[string]types.AttributeValue{
				"pk": text("CLAIM#" + saleID + "#0"), "sk": text(user), "claimId": text(claim), "shard": number(0), "acceptedAt": number(now),
			},
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}},
	}}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
