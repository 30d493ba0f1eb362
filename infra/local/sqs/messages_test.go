package sqs_test

import (
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

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
		f.fails("a message in flight is made visible", f.makeVisible(url, old), "")
		f.fails("a visible one", f.makeVisible(url, old), notInFlight)
		last := f.one(url, 1).ReceiptHandle
		f.fails("by the handle of an earlier receive", f.makeVisible(url, old), notInFlight)
		f.fails("a deletion by the handle of an earlier receive", f.delete(url, old), "")
		f.holds(url, "0", "1", "0")
		for _, garbage := range []string{"garbage", "AAAA", *last + "A"} {
			f.fails("garbage", f.makeVisible(url, &garbage), badHandle)
			f.fails("garbage", f.delete(url, &garbage), badHandle)
		}
		f.fails("another queue's", f.delete(other, last), badHandle)
		hide := func(seconds int32) error {
			_, err := f.client.ChangeMessageVisibility(f.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: last, VisibilityTimeout: seconds})
			return err
		}
		time.Sleep(time.Second / 2)
		f.fails("more than twelve hours after the receive", hide(12*60*60), "InvalidParameterValue")
		f.fails("another timeout", hide(12*60*60-1), "")
		time.Sleep(12*time.Hour - time.Second - time.Nanosecond)
		f.holds(url, "0", "1", "0")
		time.Sleep(time.Nanosecond)
		f.fails("when the timeout has passed", f.makeVisible(url, last), notInFlight)
		f.fails("a deletion when the timeout has passed", f.delete(url, last), "")
		f.none(url)
		f.fails("a deletion of a deleted message", f.delete(url, last), "")
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
