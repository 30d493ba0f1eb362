package sqs_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"flashsale/infra/local/sqs"
)

const (
	notInFlight = "AWS.SimpleQueueService.MessageNotInflight"
	badHandle   = "ReceiptHandleIsInvalid"
	unsupported = "AWS.SimpleQueueService.UnsupportedOperation"
)

// direct is a client's connection to a server in the same process.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

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
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), HTTPClient: &http.Client{Transport: direct{server}},
		})})
	})
}

// queue makes a queue; attributes come in pairs.
func (f *fixture) queue(name string, attributes ...string) (url string) {
	f.Helper()
	wanted := map[string]string{}
	for i := 0; i+1 < len(attributes); i += 2 {
		wanted[attributes[i]] = attributes[i+1]
	}
	if err := f.server.Create(name, wanted); err != nil {
		f.Fatal(err)
	}
	return "http://queues/000000000000/" + name
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

// makeVisible makes a message in flight visible at once.
func (f *fixture) makeVisible(url string, handle *string) error {
	_, err := f.client.ChangeMessageVisibility(f.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: handle})
	return err
}

// fails fails unless the SDK's name of the error is this one, "" for success.
func (f *fixture) fails(what string, err error, want string) {
	f.Helper()
	got := ""
	if answer, ok := errors.AsType[smithy.APIError](err); ok {
		got = answer.ErrorCode()
	}
	if got != want || (err == nil) != (want == "") {
		f.Errorf("%s: %v, want %q", what, err, want)
	}
}
