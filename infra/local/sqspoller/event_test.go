package sqspoller

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestTheEventHasEverythingThatLambdaGives(t *testing.T) {
	got, err := encode([]types.Message{{
		MessageId:     aws.String("id-1"),
		ReceiptHandle: aws.String("handle"),
		Body:          aws.String(`{"v":1}`),
		MD5OfBody:     aws.String("md5"),
		Attributes: map[string]string{
			"ApproximateReceiveCount": "2", "SentTimestamp": "1700000000000", "SenderId": "AIDA",
			"ApproximateFirstReceiveTimestamp": "1700000000001", "AWSTraceHeader": "Root=1-a",
		},
	}}, "arn:aws:sqs:us-east-1:000000000000:Q", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Records":[{"messageId":"id-1","receiptHandle":"handle","body":"{\"v\":1}","md5OfBody":"md5","md5OfMessageAttributes":"",
		"attributes":{"ApproximateReceiveCount":"2","SentTimestamp":"1700000000000","SenderId":"AIDA",
			"ApproximateFirstReceiveTimestamp":"1700000000001","AWSTraceHeader":"Root=1-a"},
		"messageAttributes":{},
		"eventSourceARN":"arn:aws:sqs:us-east-1:000000000000:Q","eventSource":"aws:sqs","awsRegion":"us-east-1"}]}`
	if diff := cmp.Diff(decode(t, []byte(want)), decode(t, got)); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

func decode(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func message(ids ...string) []types.Message {
	var out []types.Message
	for _, id := range ids {
		out = append(out, types.Message{MessageId: aws.String(id)})
	}
	return out
}

func TestBatchResponsesAreReadAsLambdaReadsThem(t *testing.T) {
	all, none := []string{"a", "b", "c"}, []string(nil)
	for _, c := range []struct {
		name, response string
		deleted        []string
		whole          bool
	}{
		{"an empty list is success", `{"batchItemFailures":[]}`, all, false},
		{"a null list is success", `{"batchItemFailures":null}`, all, false},
		{"an empty object is success", `{}`, all, false},
		{"null is success", `null`, all, false},
		{"no response is success", ``, all, false},
		{"a misspelt list is success", `{"BatchItemFailures":[{"itemIdentifier":"a"}]}`, all, false},
		{"a reported message stays", `{"batchItemFailures":[{"itemIdentifier":"b"}]}`, []string{"a", "c"}, false},
		{"a message may be reported twice", `{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"b"}]}`, []string{"a", "c"}, false},
		{"all reported means none deleted", `{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"b"},{"itemIdentifier":"c"}]}`, none, false},
		{"an unknown identifier fails the batch", `{"batchItemFailures":[{"itemIdentifier":"z"}]}`, none, true},
		{"an empty identifier fails the batch", `{"batchItemFailures":[{"itemIdentifier":""}]}`, none, true},
		{"a null identifier fails the batch", `{"batchItemFailures":[{"itemIdentifier":null}]}`, none, true},
		{"a numeric identifier fails the batch", `{"batchItemFailures":[{"itemIdentifier":1}]}`, none, true},
		{"a misspelt identifier fails the batch", `{"batchItemFailures":[{"ItemIdentifier":"a"}]}`, none, true},
		{"a null entry fails the batch", `{"batchItemFailures":[null]}`, none, true},
		{"a list that is no list fails the batch", `{"batchItemFailures":"a"}`, none, true},
		{"invalid JSON fails the batch", `{"batchItemFailures":[`, none, true},
		{"a bare string fails the batch", `"ok"`, none, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			done, err := succeeded(message(all...), []byte(c.response))
			if (err != nil) != c.whole {
				t.Errorf("error %v, want one: %v", err, c.whole)
			}
			var ids []string
			for _, m := range done {
				ids = append(ids, *m.MessageId)
			}
			if !slices.Equal(ids, c.deleted) {
				t.Errorf("deletes %v, want %v", ids, c.deleted)
			}
		})
	}
}
