package sqs_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/sqs"
)

const (
	notInFlight = "AWS.SimpleQueueService.MessageNotInflight"
	badHandle   = "ReceiptHandleIsInvalid"
)

func TestAMessageBecomesVisibleAgainAfterItsVisibilityTimeout(t *testing.T) {
	clock := newClock()
	f := open(t, sqs.Options{Now: clock.Now})
	url := f.queue("q", "VisibilityTimeout", "40")
	id := f.send(url, "b")
	first := f.one(url)
	clock.advance(40*time.Second - time.Nanosecond)
	f.none(url)
	clock.advance(time.Nanosecond)
	again := f.one(url)
	if *again.MessageId != id || again.Attributes["ApproximateReceiveCount"] != "2" {
		t.Errorf("received %+v", again)
	}
	if *again.ReceiptHandle == *first.ReceiptHandle {
		t.Error("both receives have one handle")
	}
	if first.Attributes["ApproximateFirstReceiveTimestamp"] != again.Attributes["ApproximateFirstReceiveTimestamp"] {
		t.Error("the first receive has moved")
	}
	t.Run("a receive's own timeout goes before the queue's", func(t *testing.T) {
		clock.advance(40 * time.Second)
		f.one(url, visibility(5))
		clock.advance(5 * time.Second)
		f.one(url)
	})
}

func TestDelay(t *testing.T) {
	clock := newClock()
	f := open(t, sqs.Options{Now: clock.Now})
	url := f.queue("q")
	f.sendLater(url, "in ten seconds", 10)
	f.sendLater(url, "in five", 5)
	if got := f.counts(url); got != [3]string{"0", "0", "2"} {
		t.Errorf("counts %v", got)
	}
	f.none(url)
	clock.advance(5 * time.Second)
	if m := f.one(url); *m.Body != "in five" {
		t.Errorf("received %q", *m.Body)
	}
	if got := f.counts(url); got != [3]string{"0", "1", "1"} {
		t.Errorf("counts %v", got)
	}
	clock.advance(5 * time.Second)
	f.one(url)
}

func TestAMessageInFlightIsMadeVisibleAtOnce(t *testing.T) {
	clock := newClock()
	f := open(t, sqs.Options{Now: clock.Now})
	url := f.queue("q")
	f.send(url, "b")
	m := f.one(url)
	if err := f.release(url, m.ReceiptHandle); err != nil {
		t.Fatal(err)
	}
	if got := code(f.release(url, m.ReceiptHandle)); got != notInFlight {
		t.Errorf("once visible: %q, want %q", got, notInFlight)
	}
	again := f.one(url, visibility(1))
	if got := code(f.release(url, m.ReceiptHandle)); got != notInFlight {
		t.Errorf("with the handle of an earlier receive: %q, want %q", got, notInFlight)
	}
	clock.advance(time.Second)
	if got := code(f.release(url, again.ReceiptHandle)); got != notInFlight {
		t.Errorf("when the timeout has passed: %q, want %q", got, notInFlight)
	}
	for _, handle := range []string{"garbage", "AAAA", *m.ReceiptHandle + "A"} {
		if got := code(f.release(url, &handle)); got != badHandle {
			t.Errorf("%q: %q", handle, got)
		}
	}
	if got := code(f.release(f.queue("other"), m.ReceiptHandle)); got != badHandle {
		t.Errorf("another queue's: %q", got)
	}
	if _, err := f.client.ChangeMessageVisibility(t.Context(), &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: &url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 10,
	}); code(err) != "AWS.SimpleQueueService.UnsupportedOperation" {
		t.Errorf("another timeout than zero: %v", err)
	}
}

func TestDeleteMessage(t *testing.T) {
	clock := newClock()
	f := open(t, sqs.Options{Now: clock.Now})
	url := f.queue("q")
	f.send(url, "b")
	old := f.one(url, visibility(1))
	clock.advance(time.Second)
	t.Run("with the handle of an earlier receive is accepted and deletes nothing", func(t *testing.T) {
		m := f.one(url, visibility(1))
		f.delete(url, old.ReceiptHandle)
		if got := f.counts(url); got != [3]string{"0", "1", "0"} {
			t.Errorf("counts %v", got)
		}
		old = m
	})
	t.Run("with the last handle deletes a message that is visible again", func(t *testing.T) {
		clock.advance(time.Second)
		f.delete(url, old.ReceiptHandle)
		f.none(url)
	})
	t.Run("of a deleted message is accepted", func(t *testing.T) { f.delete(url, old.ReceiptHandle) })
	t.Run("with garbage is refused", func(t *testing.T) {
		_, err := f.client.DeleteMessage(t.Context(), &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: aws.String("garbage")})
		if code(err) != badHandle {
			t.Errorf("error %v", err)
		}
	})
}

func TestAnEntryOfABatchFailsAlone(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	for _, body := range []string{"a", "b", "c"} {
		f.send(url, body)
	}
	m := f.receive(url)
	if len(m) != 3 {
		t.Fatalf("received %d", len(m))
	}
	entry := func(id string, handle *string) types.DeleteMessageBatchRequestEntry {
		return types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: handle}
	}
	out, err := f.client.DeleteMessageBatch(t.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: []types.DeleteMessageBatchRequestEntry{
		entry("first", m[0].ReceiptHandle), entry("garbage", aws.String("garbage")), entry("last", m[2].ReceiptHandle),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Successful) != 2 || *out.Successful[0].Id != "first" || *out.Successful[1].Id != "last" {
		t.Errorf("successful %+v", out.Successful)
	}
	if len(out.Failed) != 1 || *out.Failed[0].Id != "garbage" || *out.Failed[0].Code != badHandle || !out.Failed[0].SenderFault {
		t.Errorf("failed %+v", out.Failed)
	}
	if got := f.counts(url); got != [3]string{"0", "1", "0"} {
		t.Errorf("counts %v", got)
	}
}

func TestDeadLetters(t *testing.T) {
	clock := newClock()
	f := open(t, sqs.Options{Now: clock.Now})
	dead := f.queue("dead")
	url := f.queue("q", "RedrivePolicy", `{"deadLetterTargetArn":"`+f.arn(dead)+`","maxReceiveCount":2}`)
	id := f.send(url, "poison")
	sent := strconv.FormatInt(clock.Now().UnixMilli(), 10)
	for range 2 {
		clock.advance(30 * time.Second)
		f.one(url)
	}
	clock.advance(30 * time.Second)
	f.none(dead)
	f.send(url, "behind it")
	t.Run("a message received too often moves at the next receive, which takes the one behind it", func(t *testing.T) {
		if m := f.one(url); *m.Body != "behind it" {
			t.Errorf("received %q", *m.Body)
		}
	})
	t.Run("a dead letter is the message it was, and counts from the start", func(t *testing.T) {
		m := f.one(dead)
		if *m.MessageId != id || *m.Body != "poison" || m.Attributes["SentTimestamp"] != sent ||
			m.Attributes["ApproximateReceiveCount"] != "1" || m.Attributes["DeadLetterQueueSourceArn"] != f.arn(url) {
			t.Errorf("received %q %v", *m.Body, m.Attributes)
		}
	})
}
