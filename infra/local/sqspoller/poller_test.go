package sqspoller

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func TestTheEventHasEverythingThatLambdaGives(t *testing.T) {
	p := &Poller{c: Config{QueueARN: "arn:aws:sqs:us-east-1:000000000000:Q"}}
	got, err := json.Marshal(p.record(types.Message{
		MessageId: aws.String("id-1"), ReceiptHandle: aws.String("handle"), Body: aws.String(`{"v":1}`), MD5OfBody: aws.String("md5"),
		Attributes: map[string]string{"ApproximateReceiveCount": "2"},
	}))
	const want = `{"messageId":"id-1","receiptHandle":"handle","body":"{\"v\":1}","md5OfBody":"md5","md5OfMessageAttributes":"",` +
		`"attributes":{"ApproximateReceiveCount":"2"},"messageAttributes":{},` +
		`"eventSourceARN":"arn:aws:sqs:us-east-1:000000000000:Q","eventSource":"aws:sqs","awsRegion":"us-east-1"}`
	if err != nil || string(got) != want {
		t.Errorf("%v, got  %s\nwant %s", err, got, want)
	}
}
