package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

func text(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func number(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

// pages is a table that is read in several pages.
type pages [][]item

func (p pages) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if in.ConsistentRead == nil || !*in.ConsistentRead {
		return nil, errors.New("the read is not consistent")
	}
	n := 0
	if in.ExclusiveStartKey != nil {
		n = len(in.ExclusiveStartKey["pk"].(*types.AttributeValueMemberS).Value)
	}
	out := &dynamodb.ScanOutput{Items: p[n]}
	if n+1 < len(p) {
		out.LastEvaluatedKey = item{"pk": text(strings.Repeat("x", n+1))}
	}
	return out, nil
}

func TestTheBooksOfOneSaleAreReadFromTheWholeTable(t *testing.T) {
	table := pages{
		{
			{"pk": text("SALE#s"), "sk": text("SALE"), "seeded": number("5"), "shards": number("2")},
			{"pk": text("SALE#s"), "sk": text("CREATE")},
			{"pk": text("SALE#s2"), "sk": text("SALE"), "seeded": number("8"), "shards": number("1")},
			{"pk": text("STOCK#s#0"), "sk": text("STOCK"), "stock": number("2"), "seeded": number("3")},
		},
		{},
		{
			{"pk": text("STOCK#s#1"), "sk": text("STOCK"), "stock": number("-1"), "seeded": number("2")},
			{"pk": text("STOCK#s2#0"), "sk": text("STOCK"), "stock": number("8"), "seeded": number("8")},
			{"pk": text("CLAIM#s#1"), "sk": text("a#b"), "claimId": text("c1"), "shard": number("1"), "acceptedAt": number("1000"), "orderId": number("77")},
			{"pk": text("CLAIM#s#0"), "sk": text("d"), "claimId": text("c2"), "shard": number("0"), "acceptedAt": number("2000")},
			{"pk": text("CLAIM#s2#0"), "sk": text("a#b"), "claimId": text("c3"), "shard": number("0"), "acceptedAt": number("1")},
			{"pk": text("ORDER#77"), "sk": text("ORDER"), "saleId": text("s"), "user": text("a#b"), "claimId": text("c1")},
			{"pk": text("ORDER#78"), "sk": text("ORDER"), "saleId": text("s2"), "user": text("a#b"), "claimId": text("c3")},
			{"pk": text("SEQ#2026-11-11"), "sk": text("SEQ"), "next": number("9")},
		},
	}
	got, err := readBooks(t.Context(), table, "LedgerTable", "s")
	if err != nil {
		t.Fatal(err)
	}
	want := books{
		seeded: 5, shardCount: 2,
		shards: map[int]shard{0: {stock: 2, seeded: 3}, 1: {stock: -1, seeded: 2}},
		claims: []claim{
			{bucket: 1, user: "a#b", claimID: "c1", shard: 1, acceptedAt: time.UnixMilli(1000), orderID: "77"},
			{bucket: 0, user: "d", claimID: "c2", shard: 0, acceptedAt: time.UnixMilli(2000)},
		},
		orders: []order{{orderID: "77", user: "a#b", claimID: "c1"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(books{}, shard{}, claim{}, order{})); diff != "" {
		t.Errorf("books (-want +got):\n%s", diff)
	}
}

func TestAnItemThatIsNotAsTheDesignSaysIsReported(t *testing.T) {
	for _, c := range []struct {
		name string
		item item
		want string
	}{
		{"a shard without a stock", item{"pk": text("STOCK#s#0"), "sk": text("STOCK"), "seeded": number("3")}, "stock is not a number"},
		{"a shard with half a unit", item{"pk": text("STOCK#s#0"), "sk": text("STOCK"), "stock": number("0.5"), "seeded": number("3")}, "stock is not an integer"},
		{"a shard without a number", item{"pk": text("STOCK#s#01"), "sk": text("STOCK"), "stock": number("0"), "seeded": number("3")}, "does not end with a number"},
		{"a claim without an id", item{"pk": text("CLAIM#s#0"), "sk": text("a"), "shard": number("0"), "acceptedAt": number("1")}, "claimId is not a string"},
		{"an order whose user is a number", item{"pk": text("ORDER#7"), "sk": text("ORDER"), "saleId": text("s"), "user": number("1"), "claimId": text("c")}, "user is not a string"},
		{"no sale at all", item{"pk": text("SALES"), "sk": text("s")}, "the sale item is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := readBooks(t.Context(), pages{{c.item}}, "LedgerTable", "s")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(b.malformed, "\n"), c.want) {
				t.Errorf("reported: %q, want %q", b.malformed, c.want)
			}
		})
	}
}
