package streampoller

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func TestTheEventIsLambdas(t *testing.T) {
	p, err := New(config(t, nil), newStream(), nil)
	if err != nil {
		t.Fatal(err)
	}
	when := time.Unix(1480642020, 7e8)
	r, err := p.read(types.Record{
		AwsRegion: aws.String("dynoxide"), EventID: aws.String("f07f"), EventName: types.OperationTypeModify, EventSource: aws.String("aws:dynamodb"),
		EventVersion: aws.String("1.1"), UserIdentity: &types.Identity{Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com")},
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: &when, SequenceNumber: aws.String("1405400000000002063282832"), SizeBytes: aws.Int64(54),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
			Keys:           map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "data"}},
			NewImage: map[string]types.AttributeValue{
				"n": &types.AttributeValueMemberN{Value: "1"}, "b": &types.AttributeValueMemberB{Value: []byte{0, 1, 42, 65}},
				"t": &types.AttributeValueMemberBOOL{Value: true}, "z": &types.AttributeValueMemberNULL{Value: true},
				"ss": &types.AttributeValueMemberSS{Value: []string{"x", "y"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1"}},
				"bs": &types.AttributeValueMemberBS{Value: [][]byte{{0, 1, 42, 65}}},
				"m":  &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "in"}}}}},
			},
			OldImage: map[string]types.AttributeValue{},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"awsRegion":"us-east-1","dynamodb":{"ApproximateCreationDateTime":1480642020,"Keys":{"pk":{"S":"data"}},` +
		`"NewImage":{"b":{"B":"AAEqQQ=="},"bs":{"BS":["AAEqQQ=="]},"m":{"M":{"l":{"L":[{"S":"in"}]}}},"n":{"N":"1"},"ns":{"NS":["1"]},"ss":{"SS":["x","y"]},"t":{"BOOL":true},"z":{"NULL":true}},` +
		`"OldImage":{},"SequenceNumber":"1405400000000002063282832","SizeBytes":54,"StreamViewType":"NEW_AND_OLD_IMAGES"},` +
		`"eventID":"f07f","eventName":"MODIFY","eventSource":"aws:dynamodb","eventSourceARN":"arn:source","eventVersion":"1.1",` +
		`"userIdentity":{"principalId":"dynamodb.amazonaws.com","type":"Service"}}`
	if string(r.json) != want {
		t.Errorf("got  %s\nwant %s", r.json, want)
	}
	if !json.Valid(r.json) {
		t.Error("it is not JSON")
	}
}
