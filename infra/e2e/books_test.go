package e2e

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// books are a sale's items, read from the table without any of the project's
// own code.
type books struct {
	stock, seeded map[string]int            // by shard
	claims        map[string]map[string]any // by user
	orders        map[string]map[string]any // by order id
}

func (s *stack) books(saleID string) books {
	s.t.Helper()
	b := books{map[string]int{}, map[string]int{}, map[string]map[string]any{}, map[string]map[string]any{}}
	pages := dynamodb.NewScanPaginator(s.table(), &dynamodb.ScanInput{TableName: aws.String("LedgerTable"), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			it := plain(item)
			pk, sk := it["pk"].(string), it["sk"].(string)
			switch {
			case strings.HasPrefix(pk, "STOCK#"+saleID+"#"):
				b.stock[pk], b.seeded[pk] = it["stock"].(int), it["seeded"].(int)
			case strings.HasPrefix(pk, "CLAIM#"+saleID+"#"):
				if b.claims[sk] != nil {
					s.t.Errorf("%s has two claims (P3)", sk)
				}
				b.claims[sk] = it
			case strings.HasPrefix(pk, "ORDER#") && it["saleId"] == saleID:
				b.orders[strings.TrimPrefix(pk, "ORDER#")] = it
			}
		}
	}
	return b
}

func plain(item map[string]types.AttributeValue) map[string]any {
	it := map[string]any{}
	for name, value := range item {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			it[name] = v.Value
		case *types.AttributeValueMemberN:
			n, _ := strconv.Atoi(v.Value)
			it[name] = n
		}
	}
	return it
}

// balanced demands P1, P2, P3 and P7 of the sale, everything confirmed.
func (s *stack) balanced(saleID string) books {
	s.t.Helper()
	var b books
	s.eventually("every claim of "+saleID+" is confirmed", func() bool {
		b = s.books(saleID)
		for _, claim := range b.claims {
			if claim["orderId"] == nil {
				return false
			}
		}
		return len(b.orders) == len(b.claims)
	})
	held := map[string]int{}
	for user, claim := range b.claims {
		held[fmt.Sprintf("STOCK#%s#%d", saleID, claim["shard"])]++
		order := b.orders[strconv.Itoa(claim["orderId"].(int))]
		if order == nil || order["user"] != user || order["claimId"] != claim["claimId"] {
			s.t.Errorf("%s: claim %v, order %v (P7)", user, claim, order)
		}
	}
	for pk, stock := range b.stock {
		if stock < 0 || stock+held[pk] != b.seeded[pk] {
			s.t.Errorf("%s: %d left + %d claims, %d seeded (P1, P2)", pk, stock, held[pk], b.seeded[pk])
		}
	}
	return b
}
