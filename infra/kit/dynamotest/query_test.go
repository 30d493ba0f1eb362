package dynamotest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func sortKeys(items []map[string]types.AttributeValue) string {
	out := ""
	for _, it := range items {
		sk, _ := stringOf(it["sk"])
		out += sk
	}
	return out
}

// A page of a query holds what it may read, not what its filter keeps. A scan has the items of a
// partition together.
func TestPagesGoOnFromTheirLastKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		limit       *int32
		pageBytes   int
		query, scan string
	}{
		"all at once":         {nil, 0, "bcde ", "zabcde "},
		"by limit":            {aws.Int32(2), 0, "b cd e ", "za bc de  "},
		"by limit at the end": {aws.Int32(5), 0, "bcde  ", "zabcd e "},
		"by size":             {nil, 260, "b cd e ", "zab cd e "},
		"by one item's size":  {nil, 1, " b c d e ", "z a b c d e "},
	} {
		db := newDB()
		for _, sk := range []string{"c", "a", "e", "b", "d"} {
			mustPut(t, db, "p", sk, attributes{"pad": str(string(make([]byte, 100))), "kept": boolean(sk != "a")})
		}
		mustPut(t, db, "q", "z", nil)
		db.PageBytes = tt.pageBytes
		query := queryOf("pk = :p", attributes{":p": str("p"), ":yes": boolean(true)})
		query.FilterExpression, query.Limit = aws.String("kept = :yes"), tt.limit
		scan := &dynamodb.ScanInput{TableName: aws.String(tableName), Limit: tt.limit}
		pages := ""
		for first := true; first || query.ExclusiveStartKey != nil; first = false {
			out, err := db.Query(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			pages += sortKeys(out.Items) + " "
			query.ExclusiveStartKey = out.LastEvaluatedKey
		}
		if pages != tt.query {
			t.Errorf("%s: the query has the pages %q, want %q", name, pages, tt.query)
		}
		pages = ""
		for first := true; first || scan.ExclusiveStartKey != nil; first = false {
			out, err := db.Scan(t.Context(), scan)
			if err != nil {
				t.Fatal(err)
			}
			pages += sortKeys(out.Items) + " "
			scan.ExclusiveStartKey = out.LastEvaluatedKey
		}
		if pages != tt.scan {
			t.Errorf("%s: the scan has the pages %q, want %q", name, pages, tt.scan)
		}
	}
}
