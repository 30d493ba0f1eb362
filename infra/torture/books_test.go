package main

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// pages is a table that answers a scan one item at a time.
type pages []item

func (p pages) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	at := 0
	if last, ok := in.ExclusiveStartKey["at"].(*types.AttributeValueMemberS); ok {
		at = len(last.Value)
	}
	out := &dynamodb.ScanOutput{Items: []item{p[at]}}
	if at+1 < len(p) {
		out.LastEvaluatedKey = item{"at": text(string(make([]byte, at+1)))}
	}
	return out, nil
}

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func TestBooksAreReadSaleBySaleFromAllPages(t *testing.T) {
	table := pages{
		{"pk": text("SALE#s"), "sk": text("SALE"), "seeded": number("5"), "shards": number("2"), "empty": &types.AttributeValueMemberNS{Value: []string{"1"}}},
		{"pk": text("SALE#s"), "sk": text("CREATE"), "request": text("{}")},
		{"pk": text("SALES"), "sk": text("s")},
		{"pk": text("SEQ#2026-01-01"), "sk": text("SEQ"), "next": number("3")},
		{"pk": text("STOCK#s#1"), "sk": text("STOCK"), "stock": number("0"), "seeded": number("2")},
		{"pk": text("CLAIM#s#0"), "sk": text("ann#x"), "claimId": text("c1"), "shard": number("1"), "acceptedAt": number("1767268800000"), "orderId": number("406709376884146177")},
		{"pk": text("CLAIM#t#0"), "sk": text("bob"), "claimId": text("c2"), "shard": text("1"), "acceptedAt": number("1767268800000")},
		{"pk": text("ORDER#406709376884146177"), "sk": text("ORDER"), "saleId": text("s"), "user": text("ann#x"), "claimId": text("c1")},
	}
	got, err := readBooks(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1767268800000)
	want := map[string]*books{
		"s": {
			seeded: 5, shardCount: 2, empty: []string{"1"}, shards: map[string]shard{"1": {0, 2}},
			claims: []claim{{"ann#x", "c1", "1", at, "406709376884146177"}},
			orders: []order{{"406709376884146177", "ann#x", "c1"}},
		},
		"t": {
			shards: map[string]shard{}, claims: []claim{{"bob", "c2", "0", at, ""}},
			malformed: []string{"CLAIM#t#0: shard is not a number"},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(books{}, shard{}, claim{}, order{})); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
}

func TestBooksAreQuietOnceEveryClaimHasItsOrder(t *testing.T) {
	_, b := sold()
	if _, ok := b.quiet(); !ok {
		t.Error("sound books are not quiet")
	}
	b.claims[2].orderID = ""
	b.orders = b.orders[1:]
	if oldest, ok := b.quiet(); ok || !oldest.Equal(noon) {
		t.Errorf("oldest %v, quiet %v; want the claim whose order is missing, the older of the two", oldest, ok)
	}
}
