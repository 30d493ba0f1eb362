package books

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

var documentedItem = regexp.MustCompile("(?m)^\\| ([^|]+) \\| `([^`]+)` \\| `([^`]+)` \\| ([^|]+) \\|$")

// TestTheItemsAreAsTheDocumentDescribesThem compares ITEMS.md with what the ledger writes, and that with what is read. The tamper test
// takes each attribute away and gives it another type.
func TestTheItemsAreAsTheDocumentDescribesThem(t *testing.T) {
	document, err := os.ReadFile("ITEMS.md")
	if err != nil {
		t.Fatal(err)
	}
	kindsOf := map[string]string{
		"string": "*types.AttributeValueMemberS", "number": "*types.AttributeValueMemberN", "boolean": "*types.AttributeValueMemberBOOL", "binary": "*types.AttributeValueMemberB",
		"number-set": "*types.AttributeValueMemberNS", "string-set": "*types.AttributeValueMemberSS",
	}
	placeholder, all := regexp.MustCompile(`<[a-z]+>`), []item{}
	for _, make := range append(slices.Collect(maps.Values(wholeSales)), afterErasure, archivedSale) {
		all = append(all, make(t).db.Items(tableName)...)
	}
	undocumented := map[string]bool{}
	for _, it := range all {
		undocumented[keyOf(it).pk+" "+keyOf(it).sk] = true
	}
	for _, d := range documentedItem.FindAllStringSubmatch(string(document), -1) {
		form := func(text string) string { return placeholder.ReplaceAllString(regexp.QuoteMeta(text), "[^#]+") }
		pk, sk := regexp.MustCompile("^"+form(d[2])+"$"), regexp.MustCompile("^"+strings.ReplaceAll(form(d[3]), "[^#]+#[^#]+$", ".+")+"$")
		kinds, optional := map[string]string{}, map[string]bool{}
		for _, a := range strings.Split(d[4], ", ") {
			name, kind, _ := strings.Cut(a, " ")
			name, maybe := strings.CutSuffix(name, "?")
			kinds[name], optional[name] = kindsOf[kind], maybe
		}
		found := false
		for _, it := range all {
			k := keyOf(it)
			isOther := it["ended"] != nil != (d[1] == "withdrawal's end") || (fmt.Sprint(valueOf(it["action"])) == "describe") != (d[1] == "description in the trail")
			if !pk.MatchString(k.pk) || !sk.MatchString(k.sk) || isOther {
				continue
			}
			found = true
			delete(undocumented, k.pk+" "+k.sk)
			for name, v := range it {
				if got := fmt.Sprintf("%T", v); name != "pk" && name != "sk" && got != kinds[name] {
					t.Errorf("%s: %s of %s is %s, described is %q", k, name, d[1], got, kinds[name])
				}
			}
			for name, maybe := range optional {
				if it[name] == nil && !maybe {
					t.Errorf("%s: %s has no %s, which is described as always there", k, d[1], name)
				}
			}
		}
		if !found {
			t.Errorf("no %s was written", d[1])
		}
	}
	if len(undocumented) > 0 {
		t.Errorf("not described: %v", slices.Sorted(maps.Keys(undocumented)))
	}
}

func valueOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
