package ledger_test

import (
	"context"
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

// stubborn is a table on which writes to the sale conflict and shards fail, as set by
// the test.
type stubborn struct {
	*dynamotest.DB
	conflict bool
	tries    int
	shards   map[string]error // by partition key
}

func (s *stubborn) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if s.tries++; !s.conflict {
		return s.DB.TransactWriteItems(ctx, in, o...)
	}
	reasons := make([]types.CancellationReason, len(in.TransactItems))
	for i := range reasons {
		reasons[i].Code = aws.String("TransactionConflict")
	}
	return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
}

func (s *stubborn) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := s.shards[in.Key["pk"].(*types.AttributeValueMemberS).Value]; err != nil {
		return nil, err
	}
	return s.DB.UpdateItem(ctx, in, o...)
}

func TestAnEditThatMeetsContentionForEverIsBusyInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB()
		w := ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: table})
		w.Open(4, 2)
		s := &stubborn{DB: db, conflict: true}
		_, err := w.EnvironmentOver(s).Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: aws.Bool(true)})
		w.Refused(sale.Busy, err)
		if s.tries != patience {
			t.Errorf("%d tries, want %d (P16)", s.tries, patience)
		}
	})
}

func TestAShardsUnexpectedErrorIsToldBeforeAnothersContention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := newDB()
		w := ledgertest.NewWorld(t, ledgertest.Engine{API: db, Table: table})
		w.Open(4, 2)
		s := &stubborn{DB: db, shards: map[string]error{
			"STOCK#moutai#0": &types.ProvisionedThroughputExceededException{}, "STOCK#moutai#1": &types.ResourceNotFoundException{},
		}}
		_, err := w.EnvironmentOver(s).Edit(w.Ctx, sale.Edit{SaleID: "moutai", Paused: aws.Bool(true)})
		w.Refused(sale.Internal, err)
	})
}
