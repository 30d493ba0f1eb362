package dynamotest

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestUpdatesChangeAnItemAsDynamoDBDoes(t *testing.T) {
	start := attributes{
		"n": num("10"), "shards": numSet("1", "2"), "words": strSet("a", "b"),
	}
	for _, tt := range []struct {
		expression string
		values     attributes
		want       string // the changed parts, sorted by name
	}{
		{"SET n = n - :v", attributes{":v": num("3")}, `n: 7`},
		{"SET n = :v + n", attributes{":v": num("-15")}, `n: -5`},
		{"SET n = :v, fresh = n", attributes{":v": str("x")}, `fresh: 10, n: "x"`},
		{"REMOVE n, gone", nil, `-n`},
		{"ADD n :v", attributes{":v": num("-11")}, `n: -1`},
		{"ADD fresh :v", attributes{":v": num("5")}, `fresh: 5`},
		{"ADD shards :v", attributes{":v": numSet("2", "10", "3")}, `shards: NS[1 2 3 10]`},
		{"ADD fresh :v", attributes{":v": strSet("b", "a")}, `fresh: SS["a" "b"]`},
		{"DELETE shards :v", attributes{":v": numSet("2", "7")}, `shards: NS[1]`},
		{"DELETE shards :v", attributes{":v": numSet("2", "1")}, `-shards`},
		{"ADD words :v", attributes{":v": strSet("a", "c")}, `words: SS["a" "b" "c"]`},
		{"DELETE words :v", attributes{":v": strSet("a")}, `words: SS["b"]`},
		{"DELETE gone :v", attributes{":v": numSet("2")}, ``},
		{"SET n = :v REMOVE shards ADD fresh :v", attributes{":v": num("1")}, `fresh: 1, n: 1, -shards`},
	} {
		db := newDB()
		mustPut(t, db, "p", "s", start)
		before := look(t, db, "p", "s")
		_, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(tableName), Key: keyAt("p", "s"), UpdateExpression: &tt.expression, ExpressionAttributeValues: tt.values,
		})
		if err != nil {
			t.Errorf("%s: %v", tt.expression, err)
			continue
		}
		if got := changes(before, look(t, db, "p", "s")); got != tt.want {
			t.Errorf("%s: changed %s, want %s", tt.expression, got, tt.want)
		}
	}
}

// changes formats the differences between two items.
func changes(before, after attributes) string {
	changed, gone := attributes{}, []string{}
	for name, v := range after {
		if !equal(before[name], v) {
			changed[name] = v
		}
	}
	for _, name := range []string{"n", "shards"} {
		if before[name] != nil && after[name] == nil {
			gone = append(gone, "-"+name)
		}
	}
	out := strings.Trim(text(changed), "{}")
	if out != "" && len(gone) > 0 {
		out += ", "
	}
	return out + strings.Join(gone, ", ")
}

func TestUpdatesThatDynamoDBRefusesChangeNothing(t *testing.T) {
	v := attributes{":v": num("1")}
	for name, tt := range map[string]struct {
		expression string
		values     attributes
	}{
		"arithmetic on a missing attribute":            {"SET n = gone + :v", v},
		"a copy of a missing attribute":                {"SET n = gone", nil},
		"arithmetic on a string":                       {"SET n = s + :v", v},
		"arithmetic with a string value":               {"SET n = n + :v", attributes{":v": str("1")}},
		"a partition key":                              {"SET pk = :v", v},
		"a sort key removed":                           {"REMOVE sk", nil},
		"a section twice":                              {"SET a = :v SET b = :v", v},
		"one path twice":                               {"SET a = :v, a = :v", v},
		"adding a string":                              {"ADD n :v", attributes{":v": str("1")}},
		"adding a number to a set":                     {"ADD shards :v", v},
		"adding strings to a set of numbers":           {"ADD shards :v", attributes{":v": strSet("1")}},
		"deleting a number from a set":                 {"DELETE shards :v", v},
		"a sum of three":                               {"SET n = n + :v + :v", v},
		"an unknown section":                           {"PUT n = :v", v},
		"an empty expression":                          {"", nil},
		"an item beyond 400 KB":                        {"SET big = :v", attributes{":v": str(strings.Repeat("x", 400<<10))}},
		"a nested attribute, which nobody here says":   {"SET doc.a = :v", v},
		"an element of a list, which nobody here says": {"REMOVE many[0]", nil},
		"if_not_exists, which nobody here says":        {"SET n = if_not_exists(n, :v)", v},
		"list_append, which nobody here says":          {"SET many = list_append(many, :v)", v},
	} {
		db := newDB()
		mustPut(t, db, "p", "s", attributes{
			"n": num("10"), "s": str("x"), "shards": numSet("1"),
		})
		before := db.Dump()
		_, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(tableName), Key: keyAt("p", "s"), UpdateExpression: &tt.expression, ExpressionAttributeValues: tt.values,
		})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantCode(t, err, "ValidationException")
		if db.Dump() != before {
			t.Errorf("%s: the item changed", name)
		}
	}
}

func TestUpdateItemReturnsTheValuesAskedFor(t *testing.T) {
	for returns, want := range map[types.ReturnValue]string{
		"":                           "none",
		types.ReturnValueNone:        "none",
		types.ReturnValueAllNew:      `{a: 1, b: 1, n: 9, pk: "p", sk: "s"}`,
		types.ReturnValueUpdatedNew:  `{b: 1, n: 9}`,
		types.ReturnValueAllOld:      "error", // nobody here asks for it
		types.ReturnValueUpdatedOld:  "error",
		types.ReturnValue("SOMEHOW"): "error",
	} {
		db := newDB()
		mustPut(t, db, "p", "s", attributes{"a": num("1"), "n": num("10")})
		out, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(tableName), Key: keyAt("p", "s"), ReturnValues: returns,
			UpdateExpression: aws.String("SET n = n - :one, b = :one"), ExpressionAttributeValues: attributes{":one": num("1")},
		})
		switch {
		case want == "error":
			if err == nil {
				t.Errorf("%q: no error", returns)
			}
		case err != nil:
			t.Errorf("%q: %v", returns, err)
		default:
			wantItem(t, out.Attributes, want)
		}
	}
}

func TestAnUpdateOfNoItemMakesOne(t *testing.T) {
	db := newDB()
	out, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(tableName), Key: keyAt("p", "s"), ReturnValues: types.ReturnValueUpdatedNew,
		UpdateExpression: aws.String("ADD #n :v"), ExpressionAttributeNames: map[string]string{"#n": "next"},
		ExpressionAttributeValues: attributes{":v": num("5")},
	})
	if err != nil {
		t.Fatal(err)
	}
	wantItem(t, out.Attributes, "{next: 5}")
	wantItem(t, look(t, db, "p", "s"), `{next: 5, pk: "p", sk: "s"}`)
}

func TestNumbersAreWholeAndOf64Bits(t *testing.T) {
	largest := "9223372036854775807"
	for _, tt := range []struct{ expression, value, want string }{
		{"SET n = n + :v", "9223372036854775797", `n: ` + largest},
		{"SET n = n - :v", "-9223372036854775797", `n: ` + largest},
		{"ADD n :v", "-0", ``},
		{"ADD n :v", "+007", `n: 17`},
		{"SET n = n + :v", "9223372036854775798", "error"},
		{"ADD n :v", largest, "error"},
		{"SET n = n - :v", "-9223372036854775808", "error"},
		{"SET n = :v", "9223372036854775808", "error"},
		{"SET n = :v", "0.5", "error"},
		{"SET n = :v", "1e3", "error"},
		{"SET n = :v", "", "error"},
		{"SET n = :v", "0x10", "error"},
		{"SET n = :v", "1_000", "error"},
	} {
		db := newDB()
		mustPut(t, db, "p", "s", attributes{"n": num("10")})
		before := look(t, db, "p", "s")
		_, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(tableName), Key: keyAt("p", "s"), UpdateExpression: &tt.expression, ExpressionAttributeValues: attributes{":v": num(tt.value)},
		})
		if tt.want == "error" {
			wantCode(t, err, "ValidationException")
		} else if got := changes(before, look(t, db, "p", "s")); err != nil || got != tt.want {
			t.Errorf("%s with %s: changed %s, %v, want %s", tt.expression, tt.value, got, err, tt.want)
		}
	}
}
