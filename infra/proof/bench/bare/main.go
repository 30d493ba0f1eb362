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

	"flashsale/shared/sale"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	f := function{
		// The SDK's token slows the engine down, and a purchase does not need it.
		table: dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.IdempotencyTokenProvider = nil }),
		queue: sqs.NewFromConfig(cfg), name: aws.String(os.Getenv("TABLE_NAME")), url: aws.String(os.Getenv("ORDER_QUEUE_URL")),
	}
	lambda.Start(f.buy)
}

type function struct {
	table     *dynamodb.Client
	queue     *sqs.Client
	name, url *string
	look      sync.Once
}

// shards is the number of shards of the comparison's sales, which this program does not
// read.
const shards = 16

func (f *function) buy(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	user, saleID := e.RequestContext.Authorizer.JWT.Claims["sub"], e.PathParameters["saleId"]
	var err error
	f.look.Do(func() {
		key := map[string]types.AttributeValue{"pk": text("SALE#" + saleID), "sk": text("SALE")}
		_, err = f.table.GetItem(ctx, &dynamodb.GetItemInput{TableName: f.name, Key: key, ConsistentRead: aws.Bool(true)})
	})
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	claim := rand.Text()
	if _, err := f.table.TransactWriteItems(ctx, f.purchase(saleID, user, claim, time.Now().UnixMilli())); err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	message := fmt.Sprintf(`{"v":1,"saleId":%q,"user":%q,"claimId":%q}`, saleID, user, claim)
	if _, err := f.queue.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: f.url, MessageBody: &message}); err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	return events.APIGatewayV2HTTPResponse{
		StatusCode: 202, Headers: map[string]string{"Content-Type": "application/json"},
		Body: fmt.Sprintf(`{"claimId":%q,"saleId":%q,"state":"PENDING"}`, claim, saleID),
	}, nil
}

// purchase is a transaction with the size and the conditions of the ledger's.
func (f *function) purchase(saleID, user, claim string, now int64) *dynamodb.TransactWriteItemsInput {
	shard := sale.ShardFor(user, 0, &sale.Set{}, shards)
	bucket := sale.BucketOf(user, sale.BucketsFor(shards))
	return &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Update: &types.Update{
			TableName:                f.name,
			Key:                      map[string]types.AttributeValue{"pk": text("STOCK#" + saleID + "#" + strconv.Itoa(shard)), "sk": text("STOCK")},
			UpdateExpression:         aws.String("SET #stock = #stock - :one"),
			ConditionExpression:      aws.String("#stock > :zero AND #opensAt <= :now AND #closesAt > :now AND #paused = :no"),
			ExpressionAttributeNames: map[string]string{"#stock": "stock", "#opensAt": "opensAt", "#closesAt": "closesAt", "#paused": "paused"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":one": number(1), ":zero": number(0), ":now": number(now), ":no": &types.AttributeValueMemberBOOL{},
			},
		}},
		{Put: &types.Put{
			TableName: f.name,
			Item: map[string]types.AttributeValue{
				"pk": text("CLAIM#" + saleID + "#" + strconv.Itoa(bucket)), "sk": text(user),
				"claimId": text(claim), "shard": number(int64(shard)), "acceptedAt": number(now),
			},
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}},
	}}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
