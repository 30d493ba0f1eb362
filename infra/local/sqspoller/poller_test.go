package sqspoller

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/local/eventsource/eventsourcetest"
	localsqs "flashsale/infra/local/sqs"
)

const visibility = 30 * time.Second

type (
	fakeFunction = eventsourcetest.Function
	batch        = eventsourcetest.Batch
)

// queue is the local queue, called without a network.
type queue struct {
	*sqs.Client
	t   *testing.T
	url string
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	server := localsqs.New(localsqs.Disorder{})
	if err := server.Create("q", map[string]string{"VisibilityTimeout": "30"}); err != nil {
		t.Fatal(err)
	}
	return &queue{t: t, url: "http://queues/0/q", Client: sqs.New(sqs.Options{
		BaseEndpoint: aws.String("http://queues"), Region: "us-east-1", Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), HTTPClient: &http.Client{Transport: eventsourcetest.Direct{Handler: server}},
	})}
}

func (q *queue) send(n int) {
	q.t.Helper()
	for i := range n {
		if _, err := q.SendMessage(context.Background(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String(strconv.Itoa(i))}); err != nil {
			q.t.Fatal(err)
		}
	}
}

// holds fails unless the queue has so many messages that are visible and in flight.
func (q *queue) holds(visible, inFlight string) {
	q.t.Helper()
	want := map[string]string{"ApproximateNumberOfMessages": visible, "ApproximateNumberOfMessagesNotVisible": inFlight}
	out, err := q.GetQueueAttributes(context.Background(), &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{
		"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
	}})
	if err != nil {
		q.t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.Attributes); diff != "" {
		q.t.Errorf("the queue holds (-want +got):\n%s", diff)
	}
}

// play runs a poller in virtual time until story returns, then stops it and tells the rest.
func play(t *testing.T, c Config, f *fakeFunction, story, rest func(q *queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		c.QueueURL, c.QueueARN, c.Function, c.Region = q.url, "arn", "F", "us-east-1"
		eventsourcetest.Run(t, New(c, q, f).Run, func() { story(q) })
		rest(q)
	})
}

func empty(q *queue) { q.t.Helper(); q.holds("0", "0") }

func TestWhatFailedComesBackAfterItsVisibilityTimeoutAndNothingElseDoes(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(batch) (string, string, error) // the first one
		left   string
		sizes  []int
	}{
		"one that is reported":       {func(b batch) (string, string, error) { return eventsourcetest.Failing(b.IDs[1]), "", nil }, "1", []int{4, 1}},
		"a function error":           {func(batch) (string, string, error) { return eventsourcetest.Failing(), "Unhandled", nil }, "4", []int{4, 4}},
		"no invocation":              {func(batch) (string, string, error) { return "", "", errors.New("throttled") }, "4", []int{4, 4}},
		"a response that is no JSON": {func(batch) (string, string, error) { return "{", "", nil }, "4", []int{4, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			first := true
			f := &fakeFunction{Answer: func(_ context.Context, b batch) (string, string, error) {
				if !first {
					return eventsourcetest.Failing(), "", nil
				}
				first = false
				return tt.answer(b)
			}}
			play(t, Config{BatchSize: 10, Window: time.Second, Concurrency: 1}, f, func(q *queue) {
				q.send(4)
				eventsourcetest.After(visibility - time.Second)
				q.holds("0", tt.left)
				eventsourcetest.After(3 * time.Second)
			}, empty)
			if got := f.Sizes(); !slices.Equal(got, tt.sizes) {
				t.Errorf("batches of %v, want %v", got, tt.sizes)
			}
		})
	}
}

func TestTheEventHasEverythingThatLambdaGives(t *testing.T) {
	p := New(Config{QueueARN: "arn:aws:sqs:us-east-1:000000000000:Q", Region: "us-east-1"}, nil, nil)
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
