package sqs_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"flashsale/infra/local/sqs"
)

// A fixture is a server behind HTTP with the real SDK in front of it.
type fixture struct {
	*testing.T
	server *sqs.Server
	client *awssqs.Client
	url    string // of the HTTP server
}

func open(t *testing.T, o sqs.Options) *fixture {
	t.Helper()
	server := sqs.New(o)
	h := httptest.NewServer(server)
	t.Cleanup(func() {
		// Closing the queue first ends the long polls HTTP would wait for.
		server.Close()
		h.Close()
	})
	return &fixture{T: t, server: server, client: newClient(h.URL), url: h.URL}
}

func newClient(url string) *awssqs.Client {
	return awssqs.New(awssqs.Options{
		BaseEndpoint:     aws.String(url),
		Region:           "us-east-1",
		Credentials:      credentials.NewStaticCredentialsProvider("local", "local", ""),
		RetryMaxAttempts: 1,
		HTTPClient:       &http.Client{Timeout: 30 * time.Second},
	})
}

// queue makes a queue; attributes come in pairs.
func (f *fixture) queue(name string, attributes ...string) string {
	f.Helper()
	out, err := f.client.CreateQueue(f.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: pairs(attributes)})
	if err != nil {
		f.Fatalf("create queue %s: %v", name, err)
	}
	return *out.QueueUrl
}

func pairs(list []string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

func (f *fixture) send(url, body string) string {
	f.Helper()
	return f.sendLater(url, body, 0)
}

// sendLater sends a message with a delay.
func (f *fixture) sendLater(url, body string, seconds int32) string {
	f.Helper()
	out, err := f.client.SendMessage(f.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, DelaySeconds: seconds})
	if err != nil {
		f.Fatalf("send: %v", err)
	}
	return *out.MessageId
}

// receive takes up to ten messages, with everything there is to know of them.
func (f *fixture) receive(url string, change ...func(*awssqs.ReceiveMessageInput)) []types.Message {
	f.Helper()
	in := &awssqs.ReceiveMessageInput{
		QueueUrl: &url, MaxNumberOfMessages: 10,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}
	for _, c := range change {
		c(in)
	}
	out, err := f.client.ReceiveMessage(f.Context(), in)
	if err != nil {
		f.Fatalf("receive: %v", err)
	}
	return out.Messages
}

// one receives exactly one message.
func (f *fixture) one(url string, change ...func(*awssqs.ReceiveMessageInput)) types.Message {
	f.Helper()
	messages := f.receive(url, change...)
	if len(messages) != 1 {
		f.Fatalf("received %d messages, want 1", len(messages))
	}
	return messages[0]
}

func (f *fixture) none(url string) {
	f.Helper()
	if messages := f.receive(url); len(messages) != 0 {
		f.Fatalf("received %d messages, want none", len(messages))
	}
}

func visibility(seconds int32) func(*awssqs.ReceiveMessageInput) {
	return func(in *awssqs.ReceiveMessageInput) { in.VisibilityTimeout = seconds }
}

func (f *fixture) attributes(url string) map[string]string {
	f.Helper()
	out, err := f.client.GetQueueAttributes(f.Context(), &awssqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		f.Fatalf("get attributes: %v", err)
	}
	return out.Attributes
}

func (f *fixture) arn(url string) string {
	f.Helper()
	return f.attributes(url)["QueueArn"]
}

// counts are the visible, in-flight and delayed messages.
func (f *fixture) counts(url string) [3]string {
	f.Helper()
	a := f.attributes(url)
	return [3]string{a["ApproximateNumberOfMessages"], a["ApproximateNumberOfMessagesNotVisible"], a["ApproximateNumberOfMessagesDelayed"]}
}

func (f *fixture) delete(url string, handle *string) {
	f.Helper()
	if _, err := f.client.DeleteMessage(f.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: handle}); err != nil {
		f.Fatalf("delete: %v", err)
	}
}

// release makes a message in flight visible at once.
func (f *fixture) release(url string, handle *string) error {
	_, err := f.client.ChangeMessageVisibility(f.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: handle})
	return err
}

// code is the SDK's name of an error answer, "" for success.
func code(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return api.ErrorCode()
	}
	return err.Error()
}

// A clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 11, 10, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
