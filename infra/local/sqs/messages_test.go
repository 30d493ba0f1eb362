package sqs_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/sqs"
)

func TestAMessageBecomesVisibleAgainAfterItsVisibilityTimeout(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		url := f.queue("q", "VisibilityTimeout", "40")
		f.send(url, "b")
		first := f.one(url, 0)
		time.Sleep(40*time.Second - time.Nanosecond)
		f.none(url)
		f.holds(url, "0", "1", "0")
		time.Sleep(time.Nanosecond)
		again := f.one(url, 5)
		if *again.MessageId != *first.MessageId || *again.ReceiptHandle == *first.ReceiptHandle || again.Attributes["ApproximateReceiveCount"] != "2" ||
			first.Attributes["ApproximateFirstReceiveTimestamp"] != again.Attributes["ApproximateFirstReceiveTimestamp"] {
			t.Errorf("received %+v, and then %+v", first, again)
		}
		// A receive's own timeout goes before the queue's.
		time.Sleep(5 * time.Second)
		f.one(url, 0)
	})
}

func TestAHandleIsForTheLastReceive(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		url, other := f.queue("q"), f.queue("other")
		f.send(url, "b")
		old := f.one(url, 0).ReceiptHandle
		f.fails("a message in flight is made visible", f.release(url, old), "")
		f.fails("a visible one", f.release(url, old), notInFlight)
		last := f.one(url, 1).ReceiptHandle
		f.fails("by the handle of an earlier receive", f.release(url, old), notInFlight)
		f.fails("a deletion by the handle of an earlier receive", f.delete(url, old), "")
		f.holds(url, "0", "1", "0")
		for _, garbage := range []string{"garbage", "AAAA", *last + "A"} {
			f.fails("garbage", f.release(url, &garbage), badHandle)
			f.fails("garbage", f.delete(url, &garbage), badHandle)
		}
		f.fails("another queue's", f.delete(other, last), badHandle)
		_, err := f.client.ChangeMessageVisibility(f.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: last, VisibilityTimeout: 10})
		f.fails("another timeout than zero", err, unsupported)
		time.Sleep(time.Second)
		f.fails("when the timeout has passed", f.release(url, last), notInFlight)
		f.fails("a deletion when the timeout has passed", f.delete(url, last), "")
		f.none(url)
		f.fails("a deletion of a deleted message", f.delete(url, last), "")
	})
}

func TestMessagesComeInTheirOrderAndAnEntryOfABatchFailsAlone(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		url := f.queue("q")
		f.send(url, "a", "b", "c")
		m := f.receive(url, 0)
		if len(m) != 3 || *m[0].Body != "a" || *m[1].Body != "b" || *m[2].Body != "c" {
			t.Fatalf("received %+v, want a, b, c", m)
		}
		var entries []types.DeleteMessageBatchRequestEntry
		for id, handle := range []*string{m[0].ReceiptHandle, aws.String("garbage"), m[2].ReceiptHandle} {
			entries = append(entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(id)), ReceiptHandle: handle})
		}
		out, err := f.client.DeleteMessageBatch(f.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: entries})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Successful) != 2 || *out.Successful[0].Id != "0" || *out.Successful[1].Id != "2" {
			t.Errorf("successful %+v", out.Successful)
		}
		if len(out.Failed) != 1 || *out.Failed[0].Id != "1" || *out.Failed[0].Code != badHandle || !out.Failed[0].SenderFault {
			t.Errorf("failed %+v", out.Failed)
		}
		f.holds(url, "0", "1", "0")
	})
}

func TestAMessageThatWasReceivedTooOftenIsADeadLetter(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		dead := f.queue("dead")
		url := f.queue("q", "RedrivePolicy", redrive("dead", "2"))
		f.send(url, "poison")
		first := f.one(url, 0)
		time.Sleep(30 * time.Second)
		f.one(url, 0)
		time.Sleep(30 * time.Second)
		f.none(dead)
		f.send(url, "behind it")
		// It moves at the next receive, which takes the one behind it.
		if m := f.one(url, 0); *m.Body != "behind it" {
			t.Errorf("received %q", *m.Body)
		}
		m := f.one(dead, 0)
		if *m.MessageId != *first.MessageId || *m.Body != "poison" || m.Attributes["SentTimestamp"] != first.Attributes["SentTimestamp"] ||
			m.Attributes["ApproximateReceiveCount"] != "1" {
			t.Errorf("the dead letter is %q %v, want the same message, counted from the start", *m.Body, m.Attributes)
		}
	})
}

// polling starts a long poll of up to one message and returns what it will have received.
func (f *fixture) polling(ctx context.Context, url string) <-chan []types.Message {
	got := make(chan []types.Message, 1)
	go func() {
		out, err := f.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20})
		if err != nil {
			out = &awssqs.ReceiveMessageOutput{}
		}
		got <- out.Messages
	}()
	synctest.Wait()
	return got
}

func TestALongPollIsWokenWhenThereIsAMessage(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare, then func(f *fixture, url string)
		after         time.Duration
	}{
		"sent":               {nil, func(f *fixture, url string) { f.send(url, "b") }, 0},
		"visible again":      {func(f *fixture, url string) { f.send(url, "b"); f.one(url, 3) }, nil, 3 * time.Second},
		"with nothing there": {nil, nil, 20 * time.Second},
		"a dead letter": {nil, func(f *fixture, url string) {
			from := f.queue("from", "RedrivePolicy", redrive("q", "1"))
			f.send(from, "b")
			f.fails("release", f.release(from, f.one(from, 0).ReceiptHandle), "")
			f.none(from)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, sqs.Disorder{}, func(f *fixture) {
				url := f.queue("q")
				if tt.prepare != nil {
					tt.prepare(f, url)
				}
				began, got := time.Now(), f.polling(f.Context(), url)
				if tt.then != nil {
					tt.then(f, url)
				}
				messages, want := <-got, 1
				if name == "with nothing there" {
					want = 0
				}
				if took := time.Since(began); len(messages) != want || took != tt.after {
					t.Errorf("%d messages after %v, want %d after %v", len(messages), took, want, tt.after)
				}
			})
		})
	}
}
