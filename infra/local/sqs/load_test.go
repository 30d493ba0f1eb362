package sqs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/wait"
	"flashsale/infra/local/sqs"
)

// exchange runs senders and receivers concurrently until every message has been
// received and deleted. It returns how often each was received.
func exchange(t *testing.T, f *fixture, url string, senders, each, receivers int) map[string]int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	times := map[string]int{}
	var sending, receiving sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for i := range each {
				body := fmt.Sprintf("%d/%d", s, i)
				if _, err := f.client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
					t.Errorf("send: %v", err)
				}
			}
		})
	}
	for range receivers {
		receiving.Go(func() {
			for ctx.Err() == nil {
				out, err := f.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 20})
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Errorf("receive: %v", err)
					return
				}
				for _, m := range out.Messages {
					mu.Lock()
					times[*m.Body]++
					mu.Unlock()
					if _, err := f.client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil && ctx.Err() == nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	sending.Wait()
	wait.Until(t, 20*time.Second, "an empty queue", func() bool { return f.counts(url) == [3]string{"0", "0", "0"} })
	cancel()
	receiving.Wait()
	if len(times) != senders*each {
		t.Errorf("%d messages arrived, want %d", len(times), senders*each)
	}
	return times
}

func TestSendersAndReceiversAtOnceLoseNothing(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q", "VisibilityTimeout", "600")
	for body, n := range exchange(t, f, url, 4, 50, 4) {
		if n != 1 {
			t.Errorf("%s arrived %d times", body, n)
		}
	}
}

func TestDisorder(t *testing.T) {
	t.Run("duplicates, late and out of order, and still every message arrives", func(t *testing.T) {
		f := open(t, sqs.Options{Disorder: sqs.Disorder{Seed: 1, Duplicate: 0.3, Reorder: 0.5, Delay: 0.3, MaxDelay: 20_000_000}})
		duplicates := 0
		for _, n := range exchange(t, f, f.queue("q", "VisibilityTimeout", "600"), 2, 50, 3) {
			duplicates += n - 1
		}
		if duplicates == 0 {
			t.Error("no message arrived twice")
		}
	})
	t.Run("without it messages come in the order in which they were sent", func(t *testing.T) {
		f := open(t, sqs.Options{})
		url := f.queue("q")
		bodies := []string{"a", "b", "c"}
		for _, body := range bodies {
			f.send(url, body)
		}
		for i, m := range f.receive(url) {
			if *m.Body != bodies[i] {
				t.Errorf("message %d is %q, want %q", i, *m.Body, bodies[i])
			}
		}
	})
}
