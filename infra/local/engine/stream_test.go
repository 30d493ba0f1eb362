package engine_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/local/template"
)

var streamed = template.Table{
	Name: "orders", KeySchema: []template.Key{{Name: "pk", Type: "HASH"}},
	AttributeDefinitions: []template.Attribute{{Name: "pk", Type: "S"}}, StreamView: "NEW_AND_OLD_IMAGES",
}

type values = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func ensure(t *testing.T, client *dynamodb.Client, table template.Table) (stream string) {
	t.Helper()
	if err := engine.EnsureTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	stream, err := engine.Stream(t.Context(), client, table.Name)
	if (err == nil) != (table.StreamView != "") {
		t.Fatalf("the stream is %q, %v", stream, err)
	}
	return stream
}

// records reads all records of a table in one page.
func records(t *testing.T, e *engine.Engine, arn string) []streamtypes.Record {
	t.Helper()
	streams := engine.StreamsClient(e.Endpoint())
	described, err := streams.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
	if err != nil || len(described.StreamDescription.Shards) != 1 {
		t.Fatalf("%+v, %v, want one shard", described, err)
	}
	at, err := streams.GetShardIterator(t.Context(), &dynamodbstreams.GetShardIteratorInput{
		StreamArn: &arn, ShardId: described.StreamDescription.Shards[0].ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := streams.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: at.ShardIterator})
	if err != nil || out.NextShardIterator == nil {
		t.Fatalf("%+v, %v, want a shard that goes on", out, err)
	}
	return out.Records
}

// lines are the records in short: number, kind, key and whether the images are equal.
func lines(t *testing.T, all []streamtypes.Record) (out []string) {
	t.Helper()
	for _, r := range all {
		d := r.Dynamodb
		if aws.ToString(r.EventID) != *d.SequenceNumber {
			t.Errorf("event %s has number %s", *r.EventID, *d.SequenceNumber)
		}
		line := *d.SequenceNumber + " " + string(r.EventName) + " " + d.Keys["pk"].(*streamtypes.AttributeValueMemberS).Value
		if cmp.Equal(d.OldImage, d.NewImage, cmpopts.IgnoreUnexported(streamtypes.AttributeValueMemberS{})) {
			line += " unchanged"
		}
		out = append(out, line)
	}
	return out
}

func TestWhatHasARecordAndWhatHasNone(t *testing.T) {
	e := enginetest.Start(t)
	client := engine.Client(e.Endpoint())
	arn := ensure(t, client, streamed)
	name := aws.String(streamed.Name)
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(_ any, err error) {
		t.Helper()
		if err == nil {
			t.Fatal("nothing was refused")
		}
	}
	ctx := t.Context()
	put := func(pk, v string) *dynamodb.PutItemInput {
		return &dynamodb.PutItemInput{TableName: name, Item: values{"pk": text(pk), "v": text(v)}}
	}
	must(client.PutItem(ctx, put("a", "1")))
	must(client.PutItem(ctx, put("a", "1")))
	must(client.PutItem(ctx, put("a", "2")))
	conditional := put("a", "3")
	conditional.ConditionExpression = aws.String("attribute_not_exists(pk)")
	refused(client.PutItem(ctx, conditional))
	must(client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: name, Key: values{"pk": text("none")}}))
	transaction := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String("once"), TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: name, Item: values{"pk": text("c")}}},
		{Delete: &types.Delete{TableName: name, Key: values{"pk": text("a")}}},
		{ConditionCheck: &types.ConditionCheck{TableName: name, Key: values{"pk": text("x")}, ConditionExpression: aws.String("attribute_not_exists(pk)")}},
		{Put: &types.Put{TableName: name, Item: values{"pk": text("b")}}},
	}}
	must(client.TransactWriteItems(ctx, transaction))
	must(client.TransactWriteItems(ctx, transaction))
	refused(client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: name, Item: values{"pk": text("d")}}},
		{ConditionCheck: &types.ConditionCheck{TableName: name, Key: values{"pk": text("x")}, ConditionExpression: aws.String("attribute_exists(pk)")}},
	}}))
	for range 2 {
		must(client.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{
			say(`UPDATE "orders" SET v = ? WHERE pk = ? AND v IS MISSING`, "1", "b"),
		}}))
	}
	must(client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*name: {
		{PutRequest: &types.PutRequest{Item: values{"pk": text("e")}}},
	}}}))
	want := []string{"1 INSERT a", "2 MODIFY a unchanged", "3 MODIFY a", "4 INSERT c", "5 REMOVE a", "6 INSERT b", "7 MODIFY b", "8 INSERT e"}
	if got := lines(t, records(t, e, arn)); !slices.Equal(got, want) {
		t.Errorf("got %s\nwant %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

func TestTheRecordsOfAKilledEngineAreThoseOfItsWrites(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	e := start(t, engine.Options{DBPath: file})
	client := engine.Client(e.Endpoint())
	arn := ensure(t, client, streamed)
	for i := range 12 {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &streamed.Name, Item: values{"pk": text(strconv.Itoa(i))}}); err != nil {
			t.Fatal(err)
		}
	}
	e.Kill()
	again := start(t, engine.Options{DBPath: file})
	client = engine.Client(again.Endpoint())
	if got := ensure(t, client, streamed); got != arn {
		t.Errorf("the stream %s is now %s", arn, got)
	}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &streamed.Name, Item: values{"pk": text("after")}}); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, records(t, again, arn)); len(got) != 13 || got[0] != "1 INSERT 0" || got[11] != "12 INSERT 11" || got[12] != "13 INSERT after" {
		t.Errorf("after the kill and a write there are %s", strings.Join(got, ", "))
	}
}

func TestAStreamIsTurnedOnAndOffForATableThatExists(t *testing.T) {
	e := enginetest.Start(t)
	client := engine.Client(e.Endpoint())
	without, keys := streamed, streamed
	without.StreamView, keys.StreamView = "", "KEYS_ONLY"
	write := func() {
		t.Helper()
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &streamed.Name, Item: values{"pk": text("a")}}); err != nil {
			t.Fatal(err)
		}
	}
	ensure(t, client, without)
	write()
	first := ensure(t, client, streamed)
	write()
	if again := ensure(t, client, streamed); again != first {
		t.Errorf("the stream %s is now %s, though nothing was to change", first, again)
	}
	ensure(t, client, without)
	write()
	second := ensure(t, client, keys)
	write()
	got := records(t, e, second)
	if second == first || len(got) != 2 || got[0].Dynamodb.NewImage == nil || got[1].Dynamodb.NewImage != nil {
		t.Errorf("stream %s after %s has %v, want the old record with images and a new one without", second, first, lines(t, got))
	}
}

func TestATableThatCannotGetAStreamSaysWhatToDo(t *testing.T) {
	s := &slowTables{describes: 10}
	err := engine.EnsureTable(t.Context(), s, template.Table{Name: "orders", StreamView: "NEW_IMAGE"})
	if !errors.Is(err, errNoStreams) || !strings.Contains(err.Error(), "another data folder") {
		t.Errorf("got %v", err)
	}
}
