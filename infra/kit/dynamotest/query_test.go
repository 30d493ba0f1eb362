package dynamotest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// claims returns a table with the sort keys a to e in partition p, and one in another
// partition.
func claims(t *testing.T) *DB {
	t.Helper()
	db := newDB()
	for i, sk := range []string{"c", "a", "e", "b", "d"} {
		mustPut(t, db, "p", sk, attributes{"n": num(fmt.Sprint(i)), "pad": str(strings.Repeat("x", 100))})
	}
	mustPut(t, db, "q", "a", nil)
	return db
}

func queryOf(condition string, values attributes) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{TableName: aws.String(tableName), KeyConditionExpression: &condition, ExpressionAttributeValues: values}
}

func sortKeys(items []map[string]types.AttributeValue) string {
	out := ""
	for _, it := range items {
		sk, _ := stringOf(it["sk"])
		out += sk
	}
	return out
}

func TestAQueryReadsOnePartitionInTheOrderOfItsSortKeys(t *testing.T) {
	db := claims(t)
	p := str("p")
	for condition, tt := range map[string]struct {
		values attributes
		want   string
	}{
		"pk = :p":                                  {attributes{":p": p}, "abcde"},
		"pk = :p AND begins_with(sk, :v)":          {attributes{":p": p, ":v": str("a")}, "a"},
		"begins_with(sk, :v) AND pk = :p":          {attributes{":p": p, ":v": str("c")}, "c"},
		"pk = :nobody":                             {attributes{":nobody": str("nobody")}, ""},
		" pk = :p  AND  begins_with ( sk  ,  :v )": {attributes{":p": p, ":v": str("ab")}, ""},
	} {
		in := queryOf(condition, tt.values)
		out, err := db.Query(t.Context(), in)
		if err != nil {
			t.Errorf("%s: %v", condition, err)
			continue
		}
		if got := sortKeys(out.Items); got != tt.want || int(out.Count) != len(tt.want) || out.LastEvaluatedKey != nil {
			t.Errorf("%s: %q, count %d, last %s, want %q", condition, got, out.Count, text(out.LastEvaluatedKey), tt.want)
		}
	}
}

func TestAQueryGoesOnFromItsLastKeyByLimitAndBySize(t *testing.T) {
	for name, tt := range map[string]struct {
		limit     *int32
		pageBytes int
		want      string
	}{
		"by limit":            {aws.Int32(2), 0, "ab cd e "},
		"by limit at the end": {aws.Int32(5), 0, "abcde  "},
		"by size":             {nil, 260, "ab cd e "},
		"by one item's size":  {nil, 1, "a b c d e "},
		"all at once":         {nil, 0, "abcde "},
	} {
		db := claims(t)
		db.PageBytes = tt.pageBytes
		in := queryOf("pk = :p", attributes{":p": str("p")})
		in.Limit = tt.limit
		got := ""
		for range 10 {
			out, err := db.Query(t.Context(), in)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got += sortKeys(out.Items) + " "
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				break
			}
		}
		if got != tt.want {
			t.Errorf("%s: pages %q, want %q", name, got, tt.want)
		}
	}
}

func TestAFilterCountsWhatItReadButShowsWhatItKept(t *testing.T) {
	db := claims(t)
	in := queryOf("pk = :p", attributes{":p": str("p"), ":n": num("2")})
	in.FilterExpression = aws.String("n < :n")
	out, err := db.Query(t.Context(), in)
	if err != nil || sortKeys(out.Items) != "ac" || out.Count != 2 || out.ScannedCount != 5 {
		t.Fatalf("answered %+v, %v", out, err)
	}
}

func TestQueriesThatDynamoDBRefusesToRead(t *testing.T) {
	p := str("p")
	for name, in := range map[string]*dynamodb.QueryInput{
		"no partition key":      queryOf("sk = :p", attributes{":p": p}),
		"a range of partitions": queryOf("pk > :p", attributes{":p": p}),
		"two partitions":        queryOf("pk = :p OR pk = :q", attributes{":p": p, ":q": p}),
		"another attribute":     queryOf("pk = :p AND n = :v", attributes{":p": p, ":v": num("1")}),
		"unequal":               queryOf("pk = :p AND sk <> :v", attributes{":p": p, ":v": p}),
		"two tests of the key":  queryOf("pk = :p AND sk > :v AND sk < :w", attributes{":p": p, ":v": str("a"), ":w": str("b")}),
		"a number as the key":   queryOf("pk = :p", attributes{":p": num("1")}),
		"an empty key":          queryOf("pk = :p", attributes{":p": str("")}),
		"a range of sort keys, which nobody here asks for": queryOf("pk = :p AND sk > :v", attributes{":p": p, ":v": p}),
		"no condition":        {TableName: aws.String(tableName)},
		"no table":            {KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: attributes{":p": p}},
		"a start elsewhere":   {ExclusiveStartKey: keyAt("q", "a")},
		"half a start":        {ExclusiveStartKey: attributes{"pk": p}},
		"no limit at all":     {Limit: aws.Int32(0)},
		"an index":            {IndexName: aws.String("byUser")},
		"a filter on the key": {FilterExpression: aws.String("attribute_exists(sk)")},
		"a count":             {Select: types.SelectCount},
		"a projection":        {ProjectionExpression: aws.String("n")},
		"backward":            {ScanIndexForward: aws.Bool(false)},
	} {
		if in.KeyConditionExpression == nil && name != "no condition" {
			in.TableName, in.KeyConditionExpression = aws.String(tableName), aws.String("pk = :p")
			in.ExpressionAttributeValues = attributes{":p": p}
		}
		if _, err := claims(t).Query(t.Context(), in); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			wantCode(t, err, "ValidationException")
		}
	}
}

func TestAScanReadsEveryItemOnceByPages(t *testing.T) {
	db := claims(t)
	in := &dynamodb.ScanInput{
		TableName: aws.String(tableName), Limit: aws.Int32(2), FilterExpression: aws.String("attribute_exists(pk)"),
	}
	seen := map[string]int{}
	for range 10 {
		out, err := db.Scan(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range out.Items {
			seen[text(keyAt(it["pk"].(*types.AttributeValueMemberS).Value, it["sk"].(*types.AttributeValueMemberS).Value))]++
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	if len(seen) != 6 || in.ExclusiveStartKey != nil {
		t.Errorf("saw %v, last %s", seen, text(in.ExclusiveStartKey))
	}
	for at, times := range seen {
		if times != 1 {
			t.Errorf("%s: seen %d times", at, times)
		}
	}
}

func TestABatchReadsItsKeysAndReturnsTheRest(t *testing.T) {
	db := claims(t)
	batch := func(keys ...attributes) *dynamodb.BatchGetItemInput {
		return &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			tableName: {Keys: keys, ConsistentRead: aws.Bool(true)},
		}}
	}
	in := batch(keyAt("p", "a"), keyAt("p", "gone"), keyAt("p", "b"))
	out, err := db.BatchGetItem(t.Context(), in)
	if err != nil || len(out.Responses[tableName]) != 2 || len(out.UnprocessedKeys) != 0 {
		t.Fatalf("answered %+v, %v", out, err)
	}
	db.Fault = func(Call) Fault { return Fault{Kind: Unprocessed, Items: []int{0, 1}} }
	out, err = db.BatchGetItem(t.Context(), in)
	if err != nil || sortKeys(out.Responses[tableName]) != "b" {
		t.Fatalf("answered %+v, %v", out, err)
	}
	rest := out.UnprocessedKeys[tableName]
	if len(rest.Keys) != 2 || !aws.ToBool(rest.ConsistentRead) {
		t.Errorf("unprocessed %+v", rest)
	}
	db.Fault = func(Call) Fault { return Fault{Kind: Unprocessed} }
	_, err = db.BatchGetItem(t.Context(), in)
	wantCode(t, err, "ProvisionedThroughputExceededException")

	db.Fault = nil
	var many []attributes
	for i := range 101 {
		many = append(many, keyAt("p", fmt.Sprint(i)))
	}
	for name, bad := range map[string]*dynamodb.BatchGetItemInput{
		"duplicates": batch(keyAt("p", "a"), keyAt("p", "a")), "101 keys": batch(many...), "none": batch(),
	} {
		if _, err := db.BatchGetItem(t.Context(), bad); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			wantCode(t, err, "ValidationException")
		}
	}
}
