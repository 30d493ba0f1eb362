package sqs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"flashsale/infra/local/sqs"
)

func text(kind, value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: &kind, StringValue: &value}
}

func TestSendMessageAcceptsAndRefuses(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	small := f.queue("small", "MaximumMessageSize", "1024")
	one := func(a types.MessageAttributeValue) map[string]types.MessageAttributeValue {
		return map[string]types.MessageAttributeValue{"a": a}
	}
	named := func(name string) map[string]types.MessageAttributeValue {
		return map[string]types.MessageAttributeValue{name: text("String", "v")}
	}
	many := map[string]types.MessageAttributeValue{}
	for i := range 11 {
		many[fmt.Sprint("a", i)] = text("String", "v")
	}
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
		{"attributes count against the size", awssqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 1<<20-7)), MessageAttributes: one(text("String", "v"))}, "InvalidParameterValue"},
		{"attributes fit exactly", awssqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 1<<20-8)), MessageAttributes: one(text("String", "v"))}, ""},
		{"the queue's own size limit", awssqs.SendMessageInput{QueueUrl: &small, MessageBody: aws.String(strings.Repeat("x", 1025))}, "InvalidParameterValue"},
		{"a delay of 900 s", awssqs.SendMessageInput{MessageBody: aws.String("b"), DelaySeconds: 900}, ""},
		{"a delay of 901 s", awssqs.SendMessageInput{MessageBody: aws.String("b"), DelaySeconds: 901}, "InvalidParameterValue"},
		{"a negative delay", awssqs.SendMessageInput{MessageBody: aws.String("b"), DelaySeconds: -1}, "InvalidParameterValue"},
		{"a number attribute", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: one(text("Number.int", "-1.5e3"))}, ""},
		{"a number that is none", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: one(text("Number", "0x1"))}, "InvalidParameterValue"},
		{"an empty attribute", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: one(text("String", ""))}, "InvalidParameterValue"},
		{"an attribute of no known type", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: one(text("Integer", "1"))}, "InvalidParameterValue"},
		{"an attribute with a control character", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: one(text("String", "\x02"))}, "InvalidMessageContents"},
		{"a name with a reserved prefix", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: named("aWs.x")}, "InvalidParameterValue"},
		{"a name that ends with a period", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: named("x.")}, "InvalidParameterValue"},
		{"a name with two periods in a row", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: named("x..y")}, "InvalidParameterValue"},
		{"a name of 257 characters", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: named(strings.Repeat("n", 257))}, "InvalidParameterValue"},
		{"eleven attributes", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageAttributes: many}, "InvalidParameterValue"},
		{"a message group", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageGroupId: aws.String("tenant-1")}, ""},
		{"a message group with a space", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageGroupId: aws.String("a b")}, "InvalidParameterValue"},
		{"a deduplication id", awssqs.SendMessageInput{MessageBody: aws.String("b"), MessageDeduplicationId: aws.String("d")}, "InvalidParameterValue"},
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
	attributes := map[string]types.MessageAttributeValue{
		"General": text("String", "Kenobi"),
		"Hello":   text("String", "There"),
		"Help.Me": text("String", "Me"),
	}
	sent, err := f.client.SendMessage(t.Context(), &awssqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("msg"), MessageAttributes: attributes, MessageGroupId: aws.String("g"),
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	// Both digests are what Amazon SQS answers for this message.
	if *sent.MD5OfMessageBody != "6e2baaf3b97dbeef01c0043275f9a0e7" || *sent.MD5OfMessageAttributes != "4c360f3fdafd970e05fae2f149d997f5" {
		t.Errorf("digests %s %s", *sent.MD5OfMessageBody, *sent.MD5OfMessageAttributes)
	}
	if sent.MD5OfMessageSystemAttributes == nil {
		t.Error("no digest of the system attributes")
	}
	m := f.one(url)
	if *m.MessageId != *sent.MessageId || *m.Body != "msg" || *m.MD5OfBody != *sent.MD5OfMessageBody || *m.MD5OfMessageAttributes != *sent.MD5OfMessageAttributes {
		t.Errorf("received %+v", m)
	}
	if diff := cmp.Diff(attributes, m.MessageAttributes, cmpopts.IgnoreUnexported(types.MessageAttributeValue{})); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	for _, name := range []string{"SenderId", "SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
		if m.Attributes[name] == "" {
			t.Errorf("no %s", name)
		}
	}
	if m.Attributes["ApproximateReceiveCount"] != "1" || m.Attributes["MessageGroupId"] != "g" ||
		m.Attributes["AWSTraceHeader"] != "Root=1-5759e988-bd862e3fe1be46a994272793" {
		t.Errorf("system attributes %v", m.Attributes)
	}
	if _, ok := m.Attributes["DeadLetterQueueSourceArn"]; ok {
		t.Error("a message that is no dead letter names the queue it died in")
	}
}

func TestABinaryAttributeKeepsItsBytesAndDigest(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	value := []byte("traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01")
	if _, err := f.client.SendMessage(t.Context(), &awssqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("test"),
		MessageAttributes: map[string]types.MessageAttributeValue{"attr1": {DataType: aws.String("Binary"), BinaryValue: value}},
	}); err != nil {
		t.Fatal(err)
	}
	m := f.one(url)
	if string(m.MessageAttributes["attr1"].BinaryValue) != string(value) || *m.MD5OfMessageAttributes != "8cbe4db156db8a94db8b801b7addb984" {
		t.Errorf("received %+v", m)
	}
}

func TestAReceiveAnswersTheAttributesItAsksFor(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	if _, err := f.client.SendMessage(t.Context(), &awssqs.SendMessageInput{
		QueueUrl: &url, MessageBody: aws.String("msg"), MessageAttributes: map[string]types.MessageAttributeValue{
			"General": text("String", "Kenobi"), "Hello": text("String", "There"), "Help.Me": text("String", "Me"),
		},
	}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		asked  []string
		want   []string
		digest string
	}{
		{nil, nil, ""},
		{[]string{"All"}, []string{"General", "Hello", "Help.Me"}, "4c360f3fdafd970e05fae2f149d997f5"},
		{[]string{".*"}, []string{"General", "Hello", "Help.Me"}, "4c360f3fdafd970e05fae2f149d997f5"},
		{[]string{"General", "Hello"}, []string{"General", "Hello"}, "fca026605781cb4126a1e9044df24232"},
		{[]string{"Hello", "None"}, []string{"Hello"}, "a311262e065454b75da111d535b8dacd"},
		{[]string{"Hel.*"}, []string{"Hello", "Help.Me"}, "83fee93c1bcd8b9a5a923ffacdc636c7"},
		{[]string{"None"}, nil, ""},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.asked, ","), func(t *testing.T) {
			m := f.one(url, func(in *awssqs.ReceiveMessageInput) {
				in.MessageAttributeNames = tt.asked
				in.MessageSystemAttributeNames = []types.MessageSystemAttributeName{"SenderId", "SequenceNumber"}
			})
			if err := f.changeVisibility(url, m.ReceiptHandle, 0); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, name := range []string{"General", "Hello", "Help.Me"} {
				if _, ok := m.MessageAttributes[name]; ok {
					got = append(got, name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || aws.ToString(m.MD5OfMessageAttributes) != tt.digest {
				t.Errorf("digest %s, names (-want +got):\n%s", aws.ToString(m.MD5OfMessageAttributes), diff)
			}
			if len(m.Attributes) != 1 || m.Attributes["SenderId"] == "" {
				t.Errorf("system attributes %v", m.Attributes)
			}
		})
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
		{"an unknown attribute", awssqs.ReceiveMessageInput{MessageSystemAttributeNames: []types.MessageSystemAttributeName{"Colour"}}, "InvalidAttributeName"},
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
