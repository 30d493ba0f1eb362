package orderq

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// api is a queue that records the last call.
type api struct {
	input    *sqs.SendMessageInput
	deadline time.Time
	err      error

	attributes map[string]string
}

func (a *api) SendMessage(ctx context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	a.input = in
	a.deadline, _ = ctx.Deadline()
	return &sqs.SendMessageOutput{}, a.err
}

func (a *api) GetQueueAttributes(_ context.Context, in *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return &sqs.GetQueueAttributesOutput{Attributes: a.attributes}, a.err
}

func TestDepthCountsVisibleHiddenAndDelayedMessages(t *testing.T) {
	a := &api{attributes: map[string]string{
		"ApproximateNumberOfMessages": "5", "ApproximateNumberOfMessagesNotVisible": "20", "ApproximateNumberOfMessagesDelayed": "100",
	}}
	if n, err := NewSender(a, "http://queue").Depth(t.Context()); n != 125 || err != nil {
		t.Errorf("got %d (%v), want 125", n, err)
	}
	a.attributes["ApproximateNumberOfMessagesDelayed"] = "many"
	if _, err := NewSender(a, "http://queue").Depth(t.Context()); err == nil {
		t.Error("a count that is no number is taken for one")
	}
	a.err = io.ErrUnexpectedEOF
	if _, err := NewSender(a, "http://queue").Depth(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("err = %v, want its cause", err)
	}
	if err := NewSender(a, "http://queue").Send(t.Context(), Message{SaleID: "moutai", User: "alice", ClaimID: "C1"}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("of a message: err = %v, want its cause", err)
	}
}

func TestSendGivesTheQueueTheEncodedMessage(t *testing.T) {
	a := &api{}
	before := time.Now()
	if err := NewSender(a, "http://queue").Send(t.Context(), Message{SaleID: "moutai", User: "alice", ClaimID: "C1"}); err != nil {
		t.Fatal(err)
	}
	if got, want := aws.ToString(a.input.MessageBody), `{"v":1,"saleId":"moutai","user":"alice","claimId":"C1"}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
	if got := aws.ToString(a.input.QueueUrl); got != "http://queue" {
		t.Errorf("queue %q", got)
	}
	if a.deadline.Before(before) || a.deadline.After(time.Now().Add(sendTimeout)) {
		t.Errorf("the call may last until %s, want at most %s", a.deadline, sendTimeout)
	}
}

func TestTheSenderOfAFunctionHasItsQueueAndMakesOneAttempt(t *testing.T) {
	t.Setenv("ORDER_QUEUE_URL", "")
	if sender, err := FromEnv(aws.Config{}); sender != nil || err == nil {
		t.Errorf("FromEnv = %v, %v; want an error", sender, err)
	}
	t.Setenv("ORDER_QUEUE_URL", "http://queue")
	sender, err := FromEnv(aws.Config{})
	if err != nil || sender.url != "http://queue" {
		t.Fatalf("FromEnv = %v, %v; want a sender to the queue", sender, err)
	}
	// To count requests would be no proof: a back-off may outlast the send.
	if n := sender.api.(*sqs.Client).Options().Retryer.MaxAttempts(); n != 1 {
		t.Errorf("the client makes up to %d attempts, want 1", n)
	}
}
