package sqs_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/kit/wait"
	"flashsale/infra/local/sqs"
)

// polling starts a long poll of up to one message and returns what it will have
// received. A poll that is not woken outlasts the test's timeout.
func (f *fixture) polling(ctx context.Context, url string) <-chan []types.Message {
	got := make(chan []types.Message, 1)
	go func() {
		out, err := f.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20})
		if err != nil {
			out = &awssqs.ReceiveMessageOutput{}
		}
		got <- out.Messages
	}()
	return got
}

// woken fails unless the poll ends with a message before its wait would be over.
func (f *fixture) woken(got <-chan []types.Message) types.Message {
	f.Helper()
	select {
	case messages := <-got:
		if len(messages) != 1 {
			f.Fatalf("the poll received %d messages, want 1", len(messages))
		}
		return messages[0]
	case <-time.After(15 * time.Second):
		f.Fatal("the poll was not woken")
	}
	return types.Message{}
}

func TestALongPollIsWoken(t *testing.T) {
	f := open(t, sqs.Options{})
	t.Run("by a message", func(t *testing.T) {
		url := f.queue("sent")
		got := f.polling(t.Context(), url)
		f.waiting("sent", 1)
		f.send(url, "b")
		f.woken(got)
	})
	t.Run("by the end of a delay", func(t *testing.T) {
		url := f.queue("delayed")
		got := f.polling(t.Context(), url)
		f.waiting("delayed", 1)
		f.sendLater(url, "b", 1)
		f.woken(got)
	})
	t.Run("by the end of a visibility timeout", func(t *testing.T) {
		url := f.queue("held", "VisibilityTimeout", "1")
		f.send(url, "b")
		f.one(url)
		f.woken(f.polling(t.Context(), url))
	})
	t.Run("by a message that is released", func(t *testing.T) {
		url := f.queue("released")
		f.send(url, "b")
		m := f.one(url, visibility(3600))
		got := f.polling(t.Context(), url)
		f.waiting("released", 1)
		if err := f.release(url, m.ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		f.woken(got)
	})
	t.Run("by a dead letter", func(t *testing.T) {
		dead := f.queue("dead")
		url := f.queue("q", "RedrivePolicy", `{"deadLetterTargetArn":"`+f.arn(dead)+`","maxReceiveCount":1}`)
		f.send(url, "b")
		m := f.one(url)
		got := f.polling(t.Context(), dead)
		f.waiting("dead", 1)
		if err := f.release(url, m.ReceiptHandle); err != nil {
			t.Fatal(err)
		}
		f.none(url)
		f.woken(got)
	})
}

func (f *fixture) waiting(queue string, polls int) {
	f.Helper()
	wait.Until(f.T, 20*time.Second, "long polls waiting", func() bool { return f.server.Waiting(queue) == polls })
}

func TestALongPollEndsEmptyWhenItsTimeIsOver(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	if got := f.receive(url, func(in *awssqs.ReceiveMessageInput) { in.WaitTimeSeconds = 1 }); len(got) != 0 {
		t.Errorf("received %d", len(got))
	}
	f.waiting("q", 0)
}

func TestAbandonedLongPollsSwallowNothing(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	const polls = 8
	ctx, abandon := context.WithCancel(t.Context())
	var ends []<-chan []types.Message
	for range polls {
		ends = append(ends, f.polling(ctx, url))
	}
	f.waiting("q", polls)
	abandon()
	for _, end := range ends {
		<-end
	}
	f.waiting("q", 0)
	f.send(url, "b")
	if m := f.one(url); m.Attributes["ApproximateReceiveCount"] != "1" {
		t.Errorf("received %s times", m.Attributes["ApproximateReceiveCount"])
	}
}

func TestAMessageGoesToThePollThatStayed(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	for range 20 {
		ctx, abandon := context.WithCancel(t.Context())
		gone := f.polling(ctx, url)
		f.waiting("q", 1)
		stayed := f.polling(t.Context(), url)
		f.waiting("q", 2)
		abandon()
		<-gone
		f.waiting("q", 1)
		f.send(url, "b")
		f.delete(url, f.woken(stayed).ReceiptHandle)
	}
}

func TestALongPollEndsWithItsServer(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	got := f.polling(t.Context(), url)
	f.waiting("q", 1)
	f.server.Close()
	select {
	case <-got:
	case <-time.After(15 * time.Second):
		t.Fatal("the poll went on")
	}
	if _, err := f.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("b")}); code(err) != "ServiceUnavailable" {
		t.Errorf("a send to a closed server: %v", err)
	}
}
