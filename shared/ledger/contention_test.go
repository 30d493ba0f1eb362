package ledger_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
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

// Units are put back into other shards while a shard is found empty: the sale's version
// changes, so what was found does not count.
func TestABuyerWhoseShardIsEmptyTriesAnotherOneWhileUnitsArePutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.Open(2, 2)
		w.Accepted(w.Buy(userOf(0, "first")))
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op == "TransactWriteItems" {
				if err := db.Tamper(w.Ctx, table, "SALE#moutai", "SALE", "version", 1); err != nil {
					t.Error(err)
				}
			}
			return dynamotest.Fault{}
		}
		if p := w.Accepted(w.Buy(userOf(0, "second"))); p.Claim.Shard != 1 || p.Tries != 2 {
			t.Errorf("got %+v, want the unit of shard 1 at the second try", p)
		}
	})
}

func TestOneBuyerFindsEveryShardEmptyInOneRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, db, _ := faulty(t)
		w.Open(20, 20)
		for k := range 20 {
			if err := db.Tamper(w.Ctx, table, fmt.Sprint("STOCK#moutai#", k), "STOCK", "stock", -1); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		p, err := w.Buy("alice")
		w.Refused(sale.SoldOut, err)
		if p.Tries != 20 || time.Since(began) > 0 {
			t.Errorf("%d tries in %v, want each shard once and no wait", p.Tries, time.Since(began))
		}
	})
}

func TestAnEditThatDynamoDBRefusesIsInternal(t *testing.T) {
	w, _, _ := faulty(t)
	w.Open(1, 1)
	refusing := dynamotest.Instead("TransactWriteItems", func() (*dynamodb.TransactWriteItemsOutput, error) {
		return nil, &types.ResourceNotFoundException{Message: aws.String("no such table")}
	})
	_, err := w.Hooked(refusing).Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: aws.Bool(true)})
	w.Refused(sale.Internal, err)
}
