package sqs_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/sqs"
)

func TestAMessageArrivesAsItWasSent(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		url := f.queue("q")
		sent, err := f.client.SendMessage(f.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("msg")})
		if err != nil {
			t.Fatal(err)
		}
		// The digest is what Amazon SQS answers for this message.
		if *sent.MD5OfMessageBody != "6e2baaf3b97dbeef01c0043275f9a0e7" {
			t.Errorf("digest %s", *sent.MD5OfMessageBody)
		}
		now := strconv.FormatInt(time.Now().UnixMilli(), 10)
		m := f.one(url, 0)
		if *m.MessageId != *sent.MessageId || *m.Body != "msg" || *m.MD5OfBody != *sent.MD5OfMessageBody {
			t.Errorf("received %+v", m)
		}
		for name, want := range map[string]string{
			"SenderId": "000000000000", "SentTimestamp": now, "ApproximateFirstReceiveTimestamp": now, "ApproximateReceiveCount": "1",
		} {
			if got := m.Attributes[name]; got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
}

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

func TestDelay(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		url := f.queue("q")
		for body, seconds := range map[string]int32{"in ten seconds": 10, "in five": 5} {
			if _, err := f.client.SendMessage(f.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, DelaySeconds: seconds}); err != nil {
				t.Fatal(err)
			}
		}
		f.holds(url, "0", "0", "2")
		f.none(url)
		time.Sleep(5 * time.Second)
		if m := f.one(url, 0); *m.Body != "in five" {
			t.Errorf("received %q", *m.Body)
		}
		f.holds(url, "0", "1", "1")
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

func TestAnAbandonedLongPollSwallowsNothing(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		url := f.queue("q")
		ctx, abandon := context.WithCancel(f.Context())
		gone, stayed := f.polling(ctx, url), f.polling(f.Context(), url)
		abandon()
		f.send(url, "b")
		if g, s := <-gone, <-stayed; len(g) != 0 || len(s) != 1 {
			t.Errorf("the abandoned poll has %d messages, the other one %d, want 0 and 1", len(g), len(s))
		}
	})
}

func TestALongPollEndsWithItsServer(t *testing.T) {
	play(t, sqs.Disorder{}, func(f *fixture) {
		url := f.queue("q")
		began, got := time.Now(), f.polling(f.Context(), url)
		f.server.Close()
		if <-got; time.Since(began) != 0 {
			t.Errorf("the poll went on for %v", time.Since(began))
		}
		_, err := f.client.SendMessage(f.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("b")})
		f.fails("a send to a closed server", err, "ServiceUnavailable")
	})
}

func TestEveryMessageArrivesHoweverGreatTheDisorder(t *testing.T) {
	for name, tt := range map[string]struct {
		sqs.Disorder
		twice bool
	}{
		"no disorder": {}, "duplicates, late and out of order": {sqs.Disorder{Seed: 1, Duplicate: 0.3, Reorder: 0.5, Delay: 0.3, MaxDelay: time.Second}, true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, tt.Disorder, func(f *fixture) {
				url := f.queue("q", "VisibilityTimeout", "600")
				ctx, stop := context.WithCancel(f.Context())
				var all sync.WaitGroup
				for sender := range 4 {
					all.Go(func() {
						for i := range 50 {
							f.send(url, fmt.Sprintf("%d/%d", sender, i))
						}
					})
				}
				var mu sync.Mutex
				times := map[string]int{}
				for range 3 {
					all.Go(func() {
						for {
							out, err := f.client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 20})
							if err != nil {
								return
							}
							time.Sleep(time.Millisecond) // the others receive meanwhile, on one processor, too
							for _, m := range out.Messages {
								mu.Lock()
								times[*m.Body]++
								mu.Unlock()
								f.fails("delete", f.delete(url, m.ReceiptHandle), "")
							}
						}
					})
				}
				time.Sleep(10 * time.Second)
				stop()
				all.Wait()
				f.holds(url, "0", "0", "0")
				most := 0
				for _, n := range times {
					most = max(most, n)
				}
				if len(times) != 200 || most > 1 != tt.twice {
					t.Errorf("%d messages arrived, one of them %d times, want 200", len(times), most)
				}
			})
		})
	}
}
