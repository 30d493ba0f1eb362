package sqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"flashsale/infra/local/eventsource/eventsourcetest"
	"flashsale/infra/local/sqs"
)

const (
	notInFlight = "AWS.SimpleQueueService.MessageNotInflight"
	badHandle   = "ReceiptHandleIsInvalid"
	parameter   = "InvalidParameterValue"
	unsupported = "AWS.SimpleQueueService.UnsupportedOperation"
	noQueue     = "AWS.SimpleQueueService.NonExistentQueue"
)

// A fixture is a server with the real SDK in front of it.
type fixture struct {
	*testing.T
	server *sqs.Server
	client *awssqs.Client
}

// play tells a story in virtual time: the SDK's client calls the server without a network.
func play(t *testing.T, d sqs.Disorder, story func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(d)
		defer server.Close()
		story(&fixture{t, server, awssqs.New(awssqs.Options{
			BaseEndpoint: aws.String("http://queues"), Region: "us-east-1", Retryer: aws.NopRetryer{},
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), HTTPClient: &http.Client{Transport: eventsourcetest.Direct{Handler: server}},
		})})
	})
}

// queue makes a queue; attributes come in pairs.
func (f *fixture) queue(name string, attributes ...string) (url string) {
	f.Helper()
	if err := f.create(name, attributes...); err != nil {
		f.Fatal(err)
	}
	return "http://queues/000000000000/" + name
}

func (f *fixture) create(name string, attributes ...string) error {
	wanted := map[string]string{}
	for i := 0; i+1 < len(attributes); i += 2 {
		wanted[attributes[i]] = attributes[i+1]
	}
	return f.server.Create(name, wanted)
}

func redrive(target, most string) string {
	return `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + target + `","maxReceiveCount":` + most + `}`
}

func (f *fixture) send(url string, bodies ...string) {
	f.Helper()
	for _, body := range bodies {
		if _, err := f.client.SendMessage(f.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
			f.Fatalf("send: %v", err)
		}
	}
}

// receive takes up to ten messages, with everything there is to know of them, and hides them
// for some seconds; with 0, for the queue's time.
func (f *fixture) receive(url string, hide int32) []types.Message {
	f.Helper()
	out, err := f.client.ReceiveMessage(f.Context(), &awssqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 10, VisibilityTimeout: hide,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		f.Fatalf("receive: %v", err)
	}
	return out.Messages
}

// one receives exactly one message.
func (f *fixture) one(url string, hide int32) types.Message {
	f.Helper()
	messages := f.receive(url, hide)
	if len(messages) != 1 {
		f.Fatalf("received %d messages, want 1", len(messages))
	}
	return messages[0]
}

func (f *fixture) none(url string) {
	f.Helper()
	if messages := f.receive(url, 0); len(messages) != 0 {
		f.Fatalf("received %d messages, want none", len(messages))
	}
}

// holds fails unless the queue has so many visible, in-flight and delayed messages.
func (f *fixture) holds(url string, want ...string) {
	f.Helper()
	names := []types.QueueAttributeName{
		"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed",
	}
	out, err := f.client.GetQueueAttributes(f.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
	if err != nil {
		f.Fatalf("get attributes: %v", err)
	}
	for i, name := range names {
		if got := out.Attributes[string(name)]; got != want[i] {
			f.Errorf("%s is %s, want %s", name, got, want[i])
		}
	}
}

func (f *fixture) delete(url string, handle *string) error {
	_, err := f.client.DeleteMessage(f.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: handle})
	return err
}

// release makes a message in flight visible at once.
func (f *fixture) release(url string, handle *string) error {
	_, err := f.client.ChangeMessageVisibility(f.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: handle})
	return err
}

// fails fails unless the SDK's name of the error is this one, "" for success.
func (f *fixture) fails(what string, err error, want string) {
	f.Helper()
	var answer smithy.APIError
	got := ""
	if errors.As(err, &answer) {
		got = answer.ErrorCode()
	}
	if got != want || (err == nil) != (want == "") {
		f.Errorf("%s: %v, want %q", what, err, want)
	}
}

func TestAQueueHasTheTemplatesAttributes(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		f.queue("dead")
		f.queue("q", "VisibilityTimeout", "60", "MessageRetentionPeriod", "60", "RedrivePolicy", redrive("dead", "5"))
		for name, value := range map[string]string{
			"FifoQueue": "true", "VisibilityTimeout": "ten", "RedrivePolicy": redrive("none", "5"),
		} {
			if f.create("other", name, value) == nil {
				t.Errorf("%s: %s is accepted", name, value)
			}
		}
	})
}

func TestWhatNobodySendsIsRefused(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		url := f.queue("q")
		_, err := f.client.GetQueueAttributes(f.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
		f.fails("attributes that nobody reads", err, "InvalidAttributeName")
		_, err = f.client.PurgeQueue(f.Context(), &awssqs.PurgeQueueInput{QueueUrl: &url})
		f.fails("an operation that nobody needs", err, unsupported)
		missing, other := aws.String("http://queues/0/none"), aws.String("https://sqs.us-east-1.amazonaws.com/1/q")
		text := func(body string) awssqs.SendMessageInput {
			return awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}
		}
		later := func(seconds int32) awssqs.SendMessageInput {
			return awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("b"), DelaySeconds: seconds}
		}
		for name, tt := range map[string]struct {
			in   awssqs.SendMessageInput
			want string
		}{
			"text of any plane":              {text("茅台\t\r\n🍶 \U0010FFFF <&>"), ""},
			"no body":                        {text(""), parameter},
			"a control character":            {text("a\x01b"), "InvalidMessageContents"},
			"U+FFFE":                         {text("\uFFFE"), "InvalidMessageContents"},
			"1 MiB, of which all is escaped": {text(strings.Repeat("\"", 1<<20)), ""},
			"more than 1 MiB":                {text(strings.Repeat("x", 1<<20+1)), parameter},
			"a delay of 900 s":               {later(900), ""},
			"a delay of 901 s":               {later(901), parameter},
			"a negative delay":               {later(-1), parameter},
			"a message group":                {awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("b"), MessageGroupId: aws.String("g")}, unsupported},
			"a missing queue":                {awssqs.SendMessageInput{MessageBody: aws.String("b"), QueueUrl: missing}, noQueue},
			"another host in the URL":        {awssqs.SendMessageInput{MessageBody: aws.String("b"), QueueUrl: other}, ""},
		} {
			_, err := f.client.SendMessage(f.Context(), &tt.in)
			f.fails(name, err, tt.want)
		}
		for name, tt := range map[string]struct {
			in   awssqs.ReceiveMessageInput
			want string
		}{
			"eleven messages":              {awssqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 11}, parameter},
			"a wait of 21 s":               {awssqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 21}, parameter},
			"a negative wait":              {awssqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: -1}, parameter},
			"more than twelve hours":       {awssqs.ReceiveMessageInput{QueueUrl: &url, VisibilityTimeout: 43201}, parameter},
			"one of the system attributes": {awssqs.ReceiveMessageInput{QueueUrl: &url, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"SenderId"}}, unsupported},
			"a missing queue":              {awssqs.ReceiveMessageInput{QueueUrl: missing}, noQueue},
		} {
			_, err := f.client.ReceiveMessage(f.Context(), &tt.in)
			f.fails(name, err, tt.want)
		}
	})
}

// The SDK does not show the second name, nor that there is no empty list.
func TestAnswersHaveTheFormOfTheProtocol(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		f.queue("q")
		post := func(body string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("X-Amz-Target", "AmazonSQS.ReceiveMessage")
			w := httptest.NewRecorder()
			f.server.ServeHTTP(w, r)
			return w
		}
		if w := post(`{"QueueUrl":"http://x/0/q"}`); w.Code != 200 || strings.TrimSpace(w.Body.String()) != "{}" {
			t.Errorf("an empty receive is answered %d %s, want {}", w.Code, w.Body)
		}
		w := post(`{"QueueUrl":"http://x/0/none"}`)
		var answer struct {
			Type string `json:"__type"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 400 || answer.Type != "com.amazonaws.sqs#QueueDoesNotExist" ||
			w.Header().Get("x-amzn-query-error") != noQueue+";Sender" || w.Header().Get("Content-Type") != "application/x-amz-json-1.0" {
			t.Errorf("a missing queue is answered %d %v %s", w.Code, w.Header(), w.Body)
		}
	})
}
