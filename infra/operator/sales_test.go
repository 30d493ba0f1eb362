package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/books"
	"flashsale/shared/ledger"
	"flashsale/shared/ledger/dynamotest"
	"flashsale/shared/sale"
)

// table is a DynamoDB in this process, which also describes its table.
type table struct{ *dynamotest.DB }

func (table) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableSizeBytes: aws.Int64(1)}}, nil
}

// Books that do not add up are counted a second time, seconds later.
func TestSalesWithWrongBooksDoNotWaitForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := table{dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})}
		book := ledger.New(db, "T", ledger.Options{})
		list := make([]books.Listing, recounters)
		for i := range list {
			id := fmt.Sprint("sale-", i)
			list[i].SaleID = id
			if _, err := book.Create(t.Context(), sale.Creation{
				SaleID: id, Name: id, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), Stock: 10, Shards: 1,
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName: aws.String("T"), UpdateExpression: aws.String("SET stock = :n"),
				Key: map[string]types.AttributeValue{
					"pk": &types.AttributeValueMemberS{Value: "STOCK#" + id + "#0"}, "sk": &types.AttributeValueMemberS{Value: "STOCK"},
				},
				ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: "11"}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		took := func(list []books.Listing) time.Duration {
			begin := time.Now()
			receipts, err := recountAll(t.Context(), db, "T", list)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range receipts {
				if (r == nil) != list[i].Drained || r != nil && (r.SaleID != list[i].SaleID || r.Balanced) {
					t.Errorf("%s: %+v", list[i].SaleID, r)
				}
			}
			return time.Since(begin)
		}
		one, all := took(list[:1]), took(list)
		if one < books.SettleTime || all != one {
			t.Errorf("one sale takes %v, %d take %v", one, len(list), all)
		}
		list[0].Drained = true
		if none := took(list[:1]); none != 0 {
			t.Errorf("a drained sale is counted for %v", none)
		}
	})
}

func TestASaleForANewerReleaseIsNamedAndHidesNoOther(t *testing.T) {
	db := table{dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})}
	book := ledger.New(db, "T", ledger.Options{})
	ids := []string{"a", "newer", "z"}
	list := make([]books.Listing, len(ids))
	for i, id := range ids {
		list[i].SaleID = id
		if _, err := book.Create(t.Context(), sale.Creation{
			SaleID: id, Name: id, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), Stock: 10, Shards: 1,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Tamper(t.Context(), "T", "SALE#newer", "SALE", "minReader", 1000); err != nil {
		t.Fatal(err)
	}
	receipts, err := recountAll(t.Context(), db, "T", list)
	if err != nil || receipts[0] == nil || receipts[1] != nil || receipts[2] == nil {
		t.Errorf("got %v (%v), want two receipts", receipts, err)
	}
	var out bytes.Buffer
	err = recountEach(t.Context(), db, "T", ids, books.Options{}, false, &out)
	if !errors.Is(err, books.ErrNewerVersion) || !strings.Contains(err.Error(), "no receipt of sale newer: stored for a newer release") ||
		strings.Count(out.String(), "\nbalanced: ") != 2 {
		t.Errorf("%v, %s", err, &out)
	}
	out.Reset()
	listSales(&out, "T", []books.Listing{{SaleID: "newer", Newer: true}})
	if !strings.Contains(out.String(), "for a newer release") {
		t.Errorf("listed as %s", &out)
	}
}

func TestSalesAreListedAlsoIfOneCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := table{dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})}
		book := ledger.New(db, "T", ledger.Options{})
		var list []books.Listing
		for _, id := range []string{"a", "broken", "z"} {
			list = append(list, books.Listing{SaleID: id})
			if _, err := book.Create(t.Context(), sale.Creation{
				SaleID: id, Name: id, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), Stock: 10, Shards: 1,
			}); err != nil {
				t.Fatal(err)
			}
		}
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if strings.Contains(strings.Join(c.Keys, " "), "broken") {
				return dynamotest.Fault{Kind: dynamotest.ServerError, Delay: time.Second}
			}
			return dynamotest.Fault{}
		}
		var out bytes.Buffer
		err := listBooks(t.Context(), db, "T", book, list, &out)
		if err == nil || !strings.Contains(err.Error(), "recount broken: ") || strings.Count(out.String(), "  balanced\n") != 2 ||
			!strings.Contains(out.String(), "  not read\n") {
			t.Errorf("%v, %s", err, &out)
		}
		db.Fault = nil
		if err := db.Tamper(t.Context(), "T", "SALE#z", "SALE", "minReader", 1000); err != nil {
			t.Fatal(err)
		}
		list[0].Drained, list[2].Drained = true, true
		out.Reset()
		err = listBooks(t.Context(), db, "T", book, list, &out)
		for _, want := range []string{"  balanced and drained\n", "  balanced\n", "  not read: for a newer release\n"} {
			if !errors.Is(err, errBroken) || strings.Count(out.String(), want) != 1 {
				t.Errorf("%v, no %q in %s", err, want, &out)
			}
		}
	})
}
