package security

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/local/engine"
)

// table is all items by key, with their attributes as texts.
type table map[string]map[string]string

// books reads the whole table, without what reconciliation writes: its cursor, and when
// it resent a message. Schedules run during the tests.
func (s *system) books(t *testing.T) table {
	t.Helper()
	all := table{}
	pages := dynamodb.NewScanPaginator(engine.Client(s.DynamoDB), &dynamodb.ScanInput{
		TableName: aws.String(s.Table), ConsistentRead: aws.Bool(true),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			texts := map[string]string{}
			for name, value := range it {
				if name != "resentAt" {
					texts[name] = shown(value)
				}
			}
			if texts["pk"] != "SALES" {
				all[texts["pk"]+" | "+texts["sk"]] = texts
			}
		}
	}
	return all
}

func shown(value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberNS:
		return strings.Join(slices.Sorted(slices.Values(v.Value)), ",")
	case *types.AttributeValueMemberBOOL:
		return map[bool]string{true: "true", false: "false"}[v.Value]
	}
	return "?"
}

// claims returns the claims of a sale by user; two of one user fail the test.
func (b table) claims(t *testing.T, sale string) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{}
	for _, it := range b {
		if strings.HasPrefix(it["pk"], "CLAIM#"+sale+"#") {
			if found[it["sk"]] != nil {
				t.Errorf("%q has two claims in %s (P3)", it["sk"], sale)
			}
			found[it["sk"]] = it
		}
	}
	return found
}

// orders are the orders of a sale by id.
func (b table) orders(sale string) map[string]map[string]string {
	found := map[string]map[string]string{}
	for _, it := range b {
		if id, ok := strings.CutPrefix(it["pk"], "ORDER#"); ok && it["saleId"] == sale {
			found[id] = it
		}
	}
	return found
}

// buyers are the users with a claim, in order.
func buyers(claims map[string]map[string]string) []string { return slices.Sorted(maps.Keys(claims)) }

// unchanged checks that no item was written, changed or removed.
func (s *system) unchanged(t *testing.T, before table) {
	t.Helper()
	if diff := cmp.Diff(before, s.books(t)); diff != "" {
		t.Errorf("the table changed (-before +after):\n%s", diff)
	}
}
