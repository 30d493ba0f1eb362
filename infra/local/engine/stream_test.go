package engine_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"flashsale/infra/local/engine"
	"flashsale/infra/local/engine/enginetest"
)

var streamed = enginetest.Streamed("orders")

func TestAnAnsweredWriteAndItsRecordAreThereAfterAKill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	e := start(t, engine.Options{DBPath: file})
	client := engine.Client(e.Endpoint())
	arn := enginetest.Ensure(t, client, streamed)
	enginetest.Put(t, client, streamed.Name, "a", "b")
	e.Kill()
	again := start(t, engine.Options{DBPath: file})
	client = engine.Client(again.Endpoint())
	if got := enginetest.Ensure(t, client, streamed); got != arn {
		t.Errorf("the stream %s is now %s", arn, got)
	}
	enginetest.Put(t, client, streamed.Name, "c")
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
	enginetest.Ensure(t, client, without)
	enginetest.Put(t, client, streamed.Name, "a")
	first := enginetest.Ensure(t, client, streamed)
	enginetest.Put(t, client, streamed.Name, "a")
	if again := enginetest.Ensure(t, client, streamed); again != first {
		t.Errorf("the stream %s is now %s, though nothing was to change", first, again)
	}
	enginetest.Ensure(t, client, without)
	enginetest.Put(t, client, streamed.Name, "a")
	second := enginetest.Ensure(t, client, keys)
	enginetest.Put(t, client, streamed.Name, "a")
	got := enginetest.Records(t, e, streamed.Name)
	if second == first || len(got) != 2 || got[0].Dynamodb.NewImage == nil || got[1].Dynamodb.NewImage != nil {
		t.Errorf("stream %s after %s has %d records, want the old one with images and a new one without", second, first, len(got))
	}
}
