package dynamotest

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What DynamoDB refuses before it looks at any item, and what nobody here says, changes nothing.
func TestWhatDynamoDBRefusesToReadIsRefused(t *testing.T) {
	one, two := attributes{":v": num("1")}, attributes{":v": num("1"), ":w": num("2")}
	pv := func(v types.AttributeValue) attributes { return attributes{":p": str("p"), ":v": v} }
	for name, refused := range map[string]call{
		"an item without a key":              put(attributes{}),
		"an item with an empty key":          put(keyAt("", "s")),
		"an item with a long partition key":  put(keyAt(strings.Repeat("p", 2049), "s")),
		"an item with an empty set":          put(with("a", strSet())),
		"an item with a set with duplicates": put(with("a", numSet("1", "01"))),
		"an item with a list":                put(with("a", &types.AttributeValueMemberL{})),
		"an item of more than 400 KB":        put(with("a", str(strings.Repeat("x", 400<<10)))),
		"an item with a fraction":            put(with("a", num("0.5"))),

		"a key that is missing": get(nil),
		"more than a key":       get(with("a", str("x"))),
		"a parameter that nobody has": of((*DB).GetItem, &dynamodb.GetItemInput{
			TableName: aws.String(tableName), Key: inP("s"), ProjectionExpression: aws.String("n"),
		}),
		"a part of the items of a batch": getOf(types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{inP("s")}, ProjectionExpression: aws.String("n")}),

		"an empty condition":              on("", nil, nil),
		"a condition with BETWEEN":        on("n BETWEEN :v AND :w", nil, two),
		"a condition on a part of a map":  on("doc.a = :v", nil, one),
		"a condition on a type":           on("attribute_type(s, :v)", nil, one),
		"a reserved word":                 on("status = :v", nil, one),
		"an undefined value":              on("n = :w", nil, one),
		"an unused value":                 on("attribute_exists(n)", nil, one),
		"an undefined name":               on("#n = :v", nil, one),
		"an unused name":                  on("n = :v", map[string]string{"#n": "name"}, one),
		"a condition of more than 4 KB":   on("n = :v"+strings.Repeat(" ", 5000), nil, one),
		"a section twice":                 update("SET a = :v SET b = :v", one),
		"an attribute set twice":          update("SET a = :v, a = :v", one),
		"a default for an attribute":      update("SET n = if_not_exists(n, :v)", one),
		"a partition key set":             update("SET pk = :v", one),
		"arithmetic on what is not there": update("SET n = gone + :v", one),
		"a copy of what is not there":     update("SET n = gone", nil),
		"a sum beyond 64 bits":            update("ADD n :v", attributes{":v": num("9223372036854775807")}),
		"an update beyond 400 KB":         update("SET big = :v", attributes{":v": str(strings.Repeat("x", 400<<10))}),
		"values of before the update": of((*DB).UpdateItem, &dynamodb.UpdateItemInput{
			TableName: aws.String(tableName), Key: inP("s"), ReturnValues: types.ReturnValueAllOld,
		}),

		"a query without a condition": query(func(in *dynamodb.QueryInput) { in.KeyConditionExpression, in.ExpressionAttributeValues = nil, nil }),
		"a query of no items":         query(func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(0) }),
		"a query from elsewhere":      query(func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = keyAt("q", "a") }),
		"a query backward":            query(func(in *dynamodb.QueryInput) { in.ScanIndexForward = aws.Bool(false) }),
		"a range of sort keys":        queryBy("pk = :p AND sk > :v", pv(str("a"))),
		"a query by a number":         queryBy("pk = :p", attributes{":p": num("1")}),
		"a query by an empty key":     queryBy("pk = :p", attributes{":p": str("")}),

		"no action":              transact(),
		"101 actions":            transact(many(101, putting)...),
		"two actions on a key":   transact(putting("a"), putting("a")),
		"an action of no kind":   transact(types.TransactWriteItem{}),
		"a batch of no keys":     getBatch(),
		"a batch of 101 keys":    getBatch(many(101, inP)...),
		"a key twice":            getBatch(inP("a"), inP("a")),
		"no statement":           say(),
		"26 statements":          say(many(26, insert)...),
		"two statements an item": say(insert("1"), insert("2"), insert("1")),
	} {
		db := newDB()
		mustPut(t, db, "p", "s", attributes{"n": num("10"), "s": str("x"), "shards": numSet("1")})
		before := db.Dump()
		if got := told(t, db, refused); got != "ValidationException" || db.Dump() != before {
			t.Errorf("%s: got %s, want ValidationException; the table is\n%.1000s", name, got, db.Dump())
		}
	}
	db := newDB()
	for name, taken := range map[string]call{
		"an item of 390 KB": put(attributes{
			"pk": str(strings.Repeat("p", 2048)), "sk": str(strings.Repeat("s", 1024)), "empty": str(""), "a": str(strings.Repeat("x", 390<<10)),
		}),
		"100 actions": transact(many(100, putting)...), "100 keys": getBatch(many(100, inP)...), "25 statements": say(many(25, insert)...),
	} {
		if got := told(t, db, taken); got != "ok" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestStatementsThatAreRefusedAlone(t *testing.T) {
	const whole = ` WHERE pk = ? AND sk = ?`
	one, pk, sk := num("1"), str("CLAIM"), str("alice")
	for name, tt := range map[string]struct {
		statement types.BatchStatementRequest
		want      string
	}{
		"an unknown table":       {said(`UPDATE "other" SET a = ?`+whole, one, pk, sk), "ValidationError"},
		"no sort key":            {said(`UPDATE "sales" SET a = ? WHERE pk = ?`, one, pk), "ValidationError"},
		"a part of the key set":  {said(`UPDATE "sales" SET sk = ?`+whole, one, pk, sk), "ValidationError"},
		"one parameter too few":  {said(`UPDATE "sales" SET a = ?`+whole, pk, sk), "ValidationError"},
		"a reserved word":        {said(`UPDATE "sales" SET user = ?`+whole, one, pk, sk), "ValidationError"},
		"an insert without key":  {said(`INSERT INTO "sales" VALUE {'pk': ?}`, pk), "ValidationError"},
		"an OR":                  {said(`UPDATE "sales" SET a = ?`+whole+` OR n = ?`, one, pk, sk, one), "ValidationError"},
		"an item that is there":  {said(insertText, pk, sk, sk), "DuplicateItem"},
		"a condition that fails": {said(`UPDATE "sales" SET a = ?`+whole+` AND n = ?`, one, pk, sk, one), "ConditionalCheckFailed"},
	} {
		db := newDB()
		mustPut(t, db, "CLAIM", "alice", attributes{"n": num("5")})
		before := db.Item(tableName, "CLAIM", "alice")
		if got := answers(t, db, tt.statement, insert("1")); got != tt.want+" ok" || text(db.Item(tableName, "CLAIM", "alice")) != text(before) {
			t.Errorf("%s: got %s, want %s and the other statement applied; the table is\n%s", name, got, tt.want, db.Dump())
		}
	}
}
