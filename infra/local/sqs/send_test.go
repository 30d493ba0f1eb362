package sqs_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/sqs"
)

func TestSendMessageAcceptsAndRefuses(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	tests := []struct {
		name string
		in   awssqs.SendMessageInput
		want string
	}{
		{"plain text", awssqs.SendMessageInput{MessageBody: aws.String("b")}, ""},
		{"emoji and other planes", awssqs.SendMessageInput{MessageBody: aws.String("茅台 🍶 \U0010FFFF")}, ""},
		{"tab, newline and return", awssqs.SendMessageInput{MessageBody: aws.String("a\tb\r\nc")}, ""},
		{"markup and quotes", awssqs.SendMessageInput{MessageBody: aws.String(`<a href="x">&amp;</a>`)}, ""},
		{"an empty body", awssqs.SendMessageInput{MessageBody: aws.String("")}, "MissingParameter"},
		{"a control character", awssqs.SendMessageInput{MessageBody: aws.String("a\x01b")}, "InvalidMessageContents"},
		{"a NUL", awssqs.SendMessageInput{MessageBody: aws.String("\x00")}, "InvalidMessageContents"},
		{"U+FFFE", awssqs.SendMessageInput{MessageBody: aws.String("\uFFFE")}, "InvalidMessageContents"},
		{"exactly 1 MiB", awssqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 1<<20))}, ""},
		{"a byte more than 1 MiB", awssqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 1<<20+1))}, "InvalidParameterValue"},
		{"1 MiB of which each byte is escaped", awssqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("\"", 1<<20))}, ""},
		{"a delay of 900 s", awssqs.SendMessageInput{MessageBody: aws.String("b"), DelaySeconds: 900}, ""},
		{"a delay of 901 s", awssqs.SendMessageInput{MessageBody: aws.String("b"), DelaySeconds: 901}, "InvalidParameterValue"},
		{"a negative delay", awssqs.SendMessageInput{MessageBody: aws.String("b"), DelaySeconds: -1}, "InvalidParameterValue"},
		{"a message attribute, which is not supported", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: map[string]types.MessageAttributeValue{
			"a": {DataType: aws.String("String"), StringValue: aws.String("v")},
		}}, "AWS.SimpleQueueService.UnsupportedOperation"},
		{"a message group, which is not supported", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageGroupId: aws.String("tenant-1")}, "AWS.SimpleQueueService.UnsupportedOperation"},
		{"a missing queue", awssqs.SendMessageInput{QueueUrl: aws.String(f.url + "/000000000000/none"), MessageBody: aws.String("b")}, "AWS.SimpleQueueService.NonExistentQueue"},
		{"another host in the queue's URL", awssqs.SendMessageInput{QueueUrl: aws.String("https://sqs.us-east-1.amazonaws.com/1/q"), MessageBody: aws.String("b")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.in.QueueUrl == nil {
				tt.in.QueueUrl = &url
			}
			if _, err := f.client.SendMessage(t.Context(), &tt.in); code(err) != tt.want {
				t.Errorf("error %q, want %q", code(err), tt.want)
			}
		})
	}
}

func TestAMessageArrivesAsItWasSent(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	sent, err := f.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("msg")})
	if err != nil {
		t.Fatal(err)
	}
	// The digest is what Amazon SQS answers for this message.
	if *sent.MD5OfMessageBody != "6e2baaf3b97dbeef01c0043275f9a0e7" {
		t.Errorf("digest %s", *sent.MD5OfMessageBody)
	}
	m := f.one(url)
	if *m.MessageId != *sent.MessageId || *m.Body != "msg" || *m.MD5OfBody != *sent.MD5OfMessageBody {
		t.Errorf("received %+v", m)
	}
	for _, name := range []string{"SenderId", "SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
		if m.Attributes[name] == "" {
			t.Errorf("no %s", name)
		}
	}
	if m.Attributes["ApproximateReceiveCount"] != "1" {
		t.Errorf("system attributes %v", m.Attributes)
	}
	if _, ok := m.Attributes["DeadLetterQueueSourceArn"]; ok {
		t.Error("a message that is no dead letter names the queue it died in")
	}
}

func TestReceiveMessageChecksItsParameters(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	tests := []struct {
		name string
		in   awssqs.ReceiveMessageInput
		want string
	}{
		{"eleven messages", awssqs.ReceiveMessageInput{MaxNumberOfMessages: 11}, "InvalidParameterValue"},
		{"minus one message", awssqs.ReceiveMessageInput{MaxNumberOfMessages: -1}, "InvalidParameterValue"},
		{"a wait of 21 s", awssqs.ReceiveMessageInput{WaitTimeSeconds: 21}, "InvalidParameterValue"},
		{"a negative wait", awssqs.ReceiveMessageInput{WaitTimeSeconds: -1}, "InvalidParameterValue"},
		{"more than twelve hours", awssqs.ReceiveMessageInput{VisibilityTimeout: 43201}, "InvalidParameterValue"},
		{"twelve hours", awssqs.ReceiveMessageInput{VisibilityTimeout: 43200}, ""},
		{"one of the system attributes", awssqs.ReceiveMessageInput{MessageSystemAttributeNames: []types.MessageSystemAttributeName{"SenderId"}}, "AWS.SimpleQueueService.UnsupportedOperation"},
		//lint:ignore SA1019 older clients send it
		{"one of them by the older name", awssqs.ReceiveMessageInput{AttributeNames: []types.QueueAttributeName{"SenderId"}}, "AWS.SimpleQueueService.UnsupportedOperation"},
		{"attributes of messages, which have none", awssqs.ReceiveMessageInput{MessageAttributeNames: []string{"All"}}, ""},
		{"an id that only FIFO queues take", awssqs.ReceiveMessageInput{ReceiveRequestAttemptId: aws.String("a")}, "AWS.SimpleQueueService.UnsupportedOperation"},
		{"a missing queue", awssqs.ReceiveMessageInput{QueueUrl: aws.String(f.url + "/0/none")}, "AWS.SimpleQueueService.NonExistentQueue"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.in.QueueUrl == nil {
				tt.in.QueueUrl = &url
			}
			if _, err := f.client.ReceiveMessage(t.Context(), &tt.in); code(err) != tt.want {
				t.Errorf("error %q, want %q", code(err), tt.want)
			}
		})
	}
}

func TestSystemAttributesAreAnsweredByTheirOlderNameToo(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	f.send(url, "x")
	m := f.one(url, func(in *awssqs.ReceiveMessageInput) {
		//lint:ignore SA1019 older clients send it
		in.MessageSystemAttributeNames, in.AttributeNames = nil, []types.QueueAttributeName{types.QueueAttributeNameAll}
	})
	if m.Attributes["ApproximateReceiveCount"] != "1" || m.Attributes["SenderId"] == "" {
		t.Errorf("attributes %v, want all", m.Attributes)
	}
}
