package books

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// The recount reads every attribute by the document; so what is left is that each kind has the keys that it describes.
func TestEveryKindOfItemIsWrittenUnderTheKeysThatTheDocumentDescribes(t *testing.T) {
	undescribed := map[key]bool{}
	for _, make := range append(slices.Collect(maps.Values(wholeSales)), afterErasure, archivedSale) {
		for k := range make(t).items() {
			undescribed[k] = true
		}
	}
	form := func(text string) string {
		return "^" + regexp.MustCompile("<[a-z]+>").ReplaceAllString(regexp.QuoteMeta(text), ".+") + "$"
	}
	written := slices.Collect(maps.Keys(undescribed))
	rows := regexp.MustCompile("(?m)^\\| ([^|]+) \\| `([^`]+)` \\| `([^`]+)`").FindAllStringSubmatch(document, -1)
	for _, row := range rows {
		pk, sk := regexp.MustCompile(form(row[2])), regexp.MustCompile(form(row[3]))
		isOther := func(k key) bool { return !pk.MatchString(k.pk) || !sk.MatchString(k.sk) }
		of := slices.DeleteFunc(slices.Clone(written), isOther)
		if len(of) == 0 {
			t.Errorf("no %s was written", row[1])
		}
		for _, k := range of {
			delete(undescribed, k)
		}
	}
	if len(rows) < 20 || len(undescribed) > 0 {
		t.Errorf("%d kinds are described, but not %v", len(rows), slices.Collect(maps.Keys(undescribed)))
	}
}
