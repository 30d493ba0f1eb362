package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// table is a DynamoDB in this process, which also describes its table.
type table struct{ *dynamotest.DB }

func (table) DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{TableSizeBytes: aws.Int64(1)}}, nil
}

// listed are new sales of one shard each, and the ledger that has them.
func listed(t *testing.T, ids ...string) (table, *ledger.Ledger, []books.Listing) {
	t.Helper()
	db := table{dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})}
	book := ledger.New(db, "T", ledger.Options{})
	list := make([]books.Listing, len(ids))
	for i, id := range ids {
		list[i].SaleID = id
		if _, err := book.Create(t.Context(), sale.Creation{
			SaleID: id, Name: id, OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), Stock: 10, Shards: 1,
		}); err != nil {
			t.Fatal(err)
		}
	}
	return db, book, list
}

func tamper(t *testing.T, db table, pk, sk, attribute string, value int64) {
	t.Helper()
	if err := db.Tamper(t.Context(), "T", pk, sk, attribute, value); err != nil {
		t.Fatal(err)
	}
}

func numbered(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("sale-%03d", i))
	}
	return ids
}

// Books that do not add up are counted a second time, seconds later.
func TestSalesWithWrongBooksDoNotWaitForOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book, list := listed(t, numbered(recounters)...)
		for _, l := range list {
			tamper(t, db, "STOCK#"+l.SaleID+"#0", "STOCK", "stock", 1)
		}
		took := func(list []books.Listing) time.Duration {
			begin := time.Now()
			for i, r := range readSales(t.Context(), db, "T", book, list) {
				if r.err != nil || (r.receipt == nil) != list[i].Drained || r.receipt != nil && (r.receipt.SaleID != list[i].SaleID || r.receipt.Balanced) {
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

func TestASaleForANewerReleaseIsNamedAndHidesNoReceipt(t *testing.T) {
	ids := []string{"a", "newer", "z"}
	db, _, _ := listed(t, ids...)
	tamper(t, db, "SALE#newer", "SALE", "minReader", 1000)
	var out bytes.Buffer
	err := recountEach(t.Context(), db, "T", ids, books.Options{}, false, &out)
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

func TestEverySaleIsListedAlsoIfOneCannotBeRead(t *testing.T) {
	busy := func(db table) {
		db.Fault = func(c dynamotest.Call) dynamotest.Fault {
			if strings.Contains(strings.Join(c.Keys, " "), "sale-001") {
				return dynamotest.Fault{Kind: dynamotest.ServerError}
			}
			return dynamotest.Fault{Delay: time.Second / 2}
		}
	}
	for name, tt := range map[string]struct {
		breaks  func(*testing.T, table)
		drained bool
		reason  string
	}{
		"an item is malformed": {func(t *testing.T, db table) { tamper(t, db, "SALE#sale-001", "SALE", "empty", 7) }, false,
			"not read: internal: read item: attribute empty is not a number set"},
		"a drained sale's item is malformed": {func(t *testing.T, db table) { tamper(t, db, "SALE#sale-001", "SALE", "empty", 7) }, true,
			"not read: internal: read item: attribute empty is not a number set"},
		"the sale is for a newer release": {func(t *testing.T, db table) { tamper(t, db, "SALE#sale-001", "SALE", "minReader", 1000) }, false,
			"not read: newer-version: stored for version 1000"},
		"its part of the table is busy":              {func(_ *testing.T, db table) { busy(db) }, false, "not read: "},
		"a drained sale's part of the table is busy": {func(_ *testing.T, db table) { busy(db) }, true, "not read: busy: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, book, list := listed(t, numbered(50)...)
				list[1].Drained = tt.drained
				tt.breaks(t, db)
				var out bytes.Buffer
				err := listBooks(t.Context(), db, "T", book, list, &out)
				if err == nil || err.Error() != "the list is not complete: 1 of 50 sales could not be read" {
					t.Errorf("got %v", err)
				}
				lines := strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
				if len(lines) != 50 || !strings.HasPrefix(lines[1], "sale-001  ") || !strings.Contains(lines[1], "  "+tt.reason) ||
					strings.Count(out.String(), "  balanced\n") != 49 {
					t.Errorf("listed\n%s", &out)
				}
			})
		})
	}
}

func TestATableThatGoesAwayEndsTheListOfSales(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book, list := listed(t, numbered(200)...)
		var calls atomic.Int64
		db.Fault = func(dynamotest.Call) dynamotest.Fault {
			if calls.Add(1) > 500 {
				return dynamotest.Fault{Kind: dynamotest.ServerError}
			}
			return dynamotest.Fault{}
		}
		var out bytes.Buffer
		err := listBooks(t.Context(), db, "T", book, list, &out)
		read, unread := strings.Count(out.String(), "  balanced\n"), strings.Count(out.String(), "  not read: the table T cannot be read: ")
		if err == nil || read < 20 || unread < 100 || calls.Load() > 800 {
			t.Errorf("%v, %d read, %d not, %d calls", err, read, unread, calls.Load())
		}
	})
}

func TestADrainedSaleIsNotCounted(t *testing.T) {
	db, book, list := listed(t, "a", "b")
	list[0].Drained = true
	var out bytes.Buffer
	if err := listBooks(t.Context(), db, "T", book, list, &out); err != nil || strings.Count(out.String(), "  balanced and drained\n") != 1 ||
		strings.Count(out.String(), "  balanced\n") != 1 {
		t.Errorf("%v, listed\n%s", err, &out)
	}
}
