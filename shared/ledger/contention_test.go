package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/ledger"
	"flashsale/shared/ledger/dynamotest"
	"flashsale/shared/sale"
)

func TestEveryUserWhoseShardDoesNotAnswerTriesAnotherOne(t *testing.T) {
	for name, fault := range map[string]dynamotest.Fault{
		"conflict":     {Kind: dynamotest.Conflict, Items: []int{0}},
		"throttled":    {Kind: dynamotest.Throttle},
		"server error": {Kind: dynamotest.ServerError},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, db, _ := faulty(t)
				w.Open(1000, 10)
				var shards []string // of one purchase's tries
				db.Fault = func(c dynamotest.Call) dynamotest.Fault {
					if c.Op != "TransactWriteItems" {
						return dynamotest.Fault{}
					}
					if shards = append(shards, c.Keys[0]); len(shards) == 1 {
						return fault
					}
					return dynamotest.Fault{}
				}
				for i := range 100 {
					user := fmt.Sprint("user-", i)
					shards = nil
					w.Accepted(w.Buy(user))
					if len(shards) != 2 || shards[0] == shards[1] {
						t.Errorf("%s tried %v, want two shards", user, shards)
					}
				}
			})
		})
	}
}

func TestAContendedPurchaseGoesOnWhenMostShardsAreEmpty(t *testing.T) {
	w, _, next := faulty(t)
	w.Open(10, 10)
	for i := range 9 {
		w.Accepted(w.Buy(fmt.Sprint("buyer-", i)))
	}
	next(dynamotest.Fault{Kind: dynamotest.Conflict, Items: []int{0}})
	w.Accepted(w.Buy("alice"))
	w.Balanced(10)
}

func TestAnEditThatDynamoDBRefusesIsInternal(t *testing.T) {
	w, _, _ := faulty(t)
	w.Open(1, 1)
	_, err := w.EnvironmentOver(refusing{w.Engine.API}).Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: aws.Bool(true)})
	w.Refused(sale.Internal, err)
}

// refusing refuses every transaction permanently.
type refusing struct{ ledger.API }

func (refusing) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, &types.ResourceNotFoundException{Message: aws.String("no such table")}
}
