package ledger_test

import (
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// set writes one attribute behind the ledger's back.
func set(t *testing.T, db *dynamotest.DB, pk, sk, attribute string, value types.AttributeValue) {
	t.Helper()
	_, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:                 aws.String(table),
		Key:                       map[string]types.AttributeValue{"pk": text(pk), "sk": text(sk)},
		UpdateExpression:          aws.String("SET #a = :a"),
		ExpressionAttributeNames:  map[string]string{"#a": attribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{":a": value},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnEmptyShardThatCannotExistIsInternal(t *testing.T) {
	for shard, want := range map[string]sale.Code{
		"-1": sale.Internal, "1.5": sale.Internal,
		strconv.Itoa(sale.MaxShards - 1): "", strconv.Itoa(sale.MaxShards): sale.Internal,
	} {
		w, db, _ := faulty(t)
		w.Open(1, 1)
		set(t, db, "SALE#moutai", "SALE", "empty", &types.AttributeValueMemberNS{Value: []string{shard}})
		if _, err := w.Ledger.Sale(w.Ctx, "moutai"); sale.CodeOf(err) != want {
			t.Errorf("shard %s: got %v, want %q", shard, err, want)
		}
	}
}

func TestAnOrderItemOfAnotherClaimIsInternalAndStays(t *testing.T) {
	w, db, refs := claimed(t, 1)
	id := w.Ledger.Confirm(w.Ctx, refs)[0].Order.ID
	set(t, db, "ORDER#"+orderid.String(id), "ORDER", "user", text("another"))
	if got := w.Ledger.Confirm(w.Ctx, refs); sale.CodeOf(got[0].Err) != sale.Internal {
		t.Errorf("got %+v", got)
	}
	if o, err := w.Ledger.Order(w.Ctx, id); err != nil || o.User != "another" {
		t.Errorf("the order is %+v (%v)", o, err)
	}
}

func TestAnEditThatMeetsContentionForEverIsBusyInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB()
		w := ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: table})
		w.Open(4, 2)
		tries := 0
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if c.Op != "TransactWriteItems" {
				return dynamotest.Fault{}
			}
			tries++
			return dynamotest.Fault{Kind: dynamotest.Conflict}
		}
		_, err := w.Ledger.Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: aws.Bool(true)})
		w.Refused(sale.Busy, err)
		if tries != patience {
			t.Errorf("%d tries, want %d (P16)", tries, patience)
		}
	})
}

func TestAShardsUnexpectedErrorIsToldBeforeAnothersContention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB()
		w := ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: table})
		w.Open(4, 2)
		shards := map[string]error{
			"STOCK#moutai#0": &types.ProvisionedThroughputExceededException{}, "STOCK#moutai#1": &types.ResourceNotFoundException{},
		}
		refusing := w.Hooked(func(_ string, in any, call func() (any, error)) (any, error) {
			if update, ok := in.(*dynamodb.UpdateItemInput); ok {
				if err := shards[update.Key["pk"].(*types.AttributeValueMemberS).Value]; err != nil {
					return nil, err
				}
			}
			return call()
		})
		_, err := refusing.Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: aws.Bool(true)})
		w.Refused(sale.Internal, err)
	})
}
