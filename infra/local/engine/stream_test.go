package engine_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
	"flashsale/infra/local/template"
)

var streamed = template.Table{
	Name: "orders", KeySchema: []template.Key{{Name: "pk", Type: "HASH"}},
	AttributeDefinitions: []template.Attribute{{Name: "pk", Type: "S"}}, StreamView: "NEW_AND_OLD_IMAGES",
}

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

func put(t *testing.T, client *dynamodb.Client, pk string) {
	t.Helper()
	item := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &streamed.Name, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func TestAnAnsweredWriteAndItsRecordAreThereAfterAKill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	e := start(t, engine.Options{DBPath: file})
	client := engine.Client(e.Endpoint())
	arn := ensure(t, client, streamed)
	put(t, client, "a")
	put(t, client, "b")
	e.Kill()
	again := start(t, engine.Options{DBPath: file})
	client = engine.Client(again.Endpoint())
	if got := ensure(t, client, streamed); got != arn {
		t.Errorf("the stream %s is now %s", arn, got)
	}
	put(t, client, "c")
	var got []string
	for _, r := range enginetest.Records(t, again, streamed.Name) {
		got = append(got, fmt.Sprintf("%s %s %s", *r.Dynamodb.SequenceNumber, r.EventName, r.Dynamodb.Keys["pk"].(*streamtypes.AttributeValueMemberS).Value))
	}
	if want := []string{"1 INSERT a", "2 INSERT b", "3 INSERT c"}; !slices.Equal(got, want) {
		t.Errorf("after the kill and a write there are %q, want %q", got, want)
	}
	all, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &streamed.Name, ConsistentRead: aws.Bool(true)})
	if err != nil || all.Count != 3 {
		t.Errorf("%+v, %v, want three items", all, err)
	}
}

func TestAStreamIsTurnedOnAndOffForATableThatExists(t *testing.T) {
	e := enginetest.Start(t)
	client := engine.Client(e.Endpoint())
	without, keys := streamed, streamed
	without.StreamView, keys.StreamView = "", "KEYS_ONLY"
	ensure(t, client, without)
	put(t, client, "a")
	first := ensure(t, client, streamed)
	put(t, client, "a")
	if again := ensure(t, client, streamed); again != first {
		t.Errorf("the stream %s is now %s, though nothing was to change", first, again)
	}
	ensure(t, client, without)
	put(t, client, "a")
	second := ensure(t, client, keys)
	put(t, client, "a")
	got := enginetest.Records(t, e, streamed.Name)
	if second == first || len(got) != 2 || got[0].Dynamodb.NewImage == nil || got[1].Dynamodb.NewImage != nil {
		t.Errorf("stream %s after %s has %d records, want the old one with images and a new one without", second, first, len(got))
	}
}
