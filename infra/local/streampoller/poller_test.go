package streampoller

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"flashsale/infra/local/eventsource/eventsourcetest"
)

const fakeARN = "arn:aws:dynamodb:us-east-1:1:table/t/stream/2026-11-11T00:00:00.000"

type (
	fakeFunction = eventsourcetest.Function
	batch        = eventsourcetest.Batch
)

func config(t *testing.T, change func(*Config)) Config {
	t.Helper()
	c := Config{
		StreamARN: fakeARN, SourceARN: "arn:source", Function: "F", Region: "us-east-1", Checkpoint: t.TempDir() + "/streams/F.json",
		BatchSize: 100, Window: 50 * time.Millisecond, Parallel: 1,
	}
	if change != nil {
		change(&c)
	}
	return c
}

func poller(t *testing.T, c Config, s Stream, f *fakeFunction) *Poller {
	t.Helper()
	p, err := New(c, s, f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheEventIsLambdas(t *testing.T) {
	p, err := New(config(t, nil), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	when := time.Unix(1480642020, 7e8)
	r, err := p.record("shard-1", types.Record{
		AwsRegion: aws.String("dynoxide"), EventID: aws.String("f07f"), EventName: types.OperationTypeModify, EventSource: aws.String("aws:dynamodb"),
		EventVersion: aws.String("1.1"),
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: &when, SequenceNumber: aws.String("1405400000000002063282832"), SizeBytes: aws.Int64(54),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
			Keys:           map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "data"}},
			NewImage: map[string]types.AttributeValue{
				"n": &types.AttributeValueMemberN{Value: "1"}, "b": &types.AttributeValueMemberB{Value: []byte{0, 1, 42, 65}},
				"t":  &types.AttributeValueMemberBOOL{Value: true},
				"ss": &types.AttributeValueMemberSS{Value: []string{"x", "y"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1"}},
			},
			OldImage: map[string]types.AttributeValue{},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"awsRegion":"us-east-1","dynamodb":{"ApproximateCreationDateTime":1480642020,"Keys":{"pk":{"S":"data"}},` +
		`"NewImage":{"b":{"B":"AAEqQQ=="},"n":{"N":"1"},"ns":{"NS":["1"]},"ss":{"SS":["x","y"]},"t":{"BOOL":true}},` +
		`"OldImage":{},"SequenceNumber":"1405400000000002063282832","SizeBytes":54,"StreamViewType":"NEW_AND_OLD_IMAGES"},` +
		`"eventID":"f07f","eventName":"MODIFY","eventSource":"aws:dynamodb","eventSourceARN":"arn:source","eventVersion":"1.1"}`
	if string(r.json) != want {
		t.Errorf("got  %s\nwant %s", r.json, want)
	}
}
