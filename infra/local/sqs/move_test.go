package sqs_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/sqs"
)

const noResource = "ResourceNotFoundException"

// deadLetters makes a queue with a dead-letter queue and lets messages die.
func (f *fixture) deadLetters(name string, count int) (url, dead string) {
	f.Helper()
	dead = f.queue(name + "-dead")
	url = f.queue(name, "RedrivePolicy", `{"deadLetterTargetArn":"`+f.arn(dead)+`","maxReceiveCount":1}`)
	for i := range count {
		f.send(url, fmt.Sprint(i))
	}
	for _, m := range f.receive(url) {
		if err := f.changeVisibility(url, m.ReceiptHandle, 0); err != nil {
			f.Fatal(err)
		}
	}
	f.none(url)
	return url, dead
}

func (f *fixture) start(in awssqs.StartMessageMoveTaskInput) string {
	f.Helper()
	out, err := f.client.StartMessageMoveTask(f.Context(), &in)
	if err != nil {
		f.Fatalf("start move task: %v", err)
	}
	return *out.TaskHandle
}

func (f *fixture) tasks(arn string, most *int32) []types.ListMessageMoveTasksResultEntry {
	f.Helper()
	out, err := f.client.ListMessageMoveTasks(f.Context(), &awssqs.ListMessageMoveTasksInput{SourceArn: &arn, MaxResults: most})
	if err != nil {
		f.Fatalf("list move tasks: %v", err)
	}
	return out.Results
}

func (f *fixture) ended(arn, status string) types.ListMessageMoveTasksResultEntry {
	f.Helper()
	eventually(f.T, "the task to be "+status, func() bool { return *f.tasks(arn, nil)[0].Status == status })
	return f.tasks(arn, nil)[0]
}

func TestAMoveTaskBringsDeadLettersBack(t *testing.T) {
	f := open(t, sqs.Options{})
	url, dead := f.deadLetters("q", 3)
	before := f.one(dead, func(in *awssqs.ReceiveMessageInput) { in.MaxNumberOfMessages = 1 })
	if err := f.changeVisibility(dead, before.ReceiptHandle, 0); err != nil {
		t.Fatal(err)
	}
	arn := f.arn(dead)
	f.start(awssqs.StartMessageMoveTaskInput{SourceArn: &arn})
	task := f.ended(arn, "COMPLETED")
	if task.ApproximateNumberOfMessagesMoved != 3 || *task.ApproximateNumberOfMessagesToMove != 3 || task.DestinationArn != nil ||
		task.TaskHandle != nil || task.StartedTimestamp == 0 || *task.SourceArn != arn {
		t.Errorf("task %+v", task)
	}
	if got := f.counts(dead); got[0] != "0" {
		t.Errorf("%s messages are left", got[0])
	}
	messages := f.receive(url)
	if len(messages) != 3 {
		t.Fatalf("received %d messages, want 3", len(messages))
	}
	for _, m := range messages {
		if *m.MessageId == *before.MessageId || m.Attributes["ApproximateReceiveCount"] != "1" || m.Attributes["DeadLetterQueueSourceArn"] != "" {
			t.Errorf("a moved message is not a new one: %+v", m.Attributes)
		}
	}
}

func TestAMoveTaskToAnotherQueue(t *testing.T) {
	f := open(t, sqs.Options{})
	_, dead := f.deadLetters("q", 2)
	other := f.queue("other")
	f.send(dead, "sent to the dead letters by hand")
	arn, to := f.arn(dead), f.arn(other)
	f.start(awssqs.StartMessageMoveTaskInput{SourceArn: &arn, DestinationArn: &to, MaxNumberOfMessagesPerSecond: aws.Int32(500)})
	if task := f.ended(arn, "COMPLETED"); *task.DestinationArn != to || *task.MaxNumberOfMessagesPerSecond != 500 {
		t.Errorf("task %+v", task)
	}
	if got := f.receive(other); len(got) != 3 {
		t.Errorf("received %d messages, want 3", len(got))
	}
}

func TestAMoveTaskFailsWhereNothingSaysWhereTo(t *testing.T) {
	f := open(t, sqs.Options{})
	_, dead := f.deadLetters("q", 0)
	f.send(dead, "sent to the dead letters by hand")
	arn := f.arn(dead)
	f.start(awssqs.StartMessageMoveTaskInput{SourceArn: &arn})
	if task := f.ended(arn, "FAILED"); *task.FailureReason != "CouldNotDetermineMessageSource" {
		t.Errorf("reason %s", *task.FailureReason)
	}
}

func TestAMoveTaskCanBeCancelled(t *testing.T) {
	f := open(t, sqs.Options{})
	_, dead := f.deadLetters("q", 10)
	arn := f.arn(dead)
	handle := f.start(awssqs.StartMessageMoveTaskInput{SourceArn: &arn, MaxNumberOfMessagesPerSecond: aws.Int32(1)})
	if running := f.tasks(arn, nil); len(running) != 1 || *running[0].Status != "RUNNING" || *running[0].TaskHandle != handle {
		t.Errorf("tasks %+v", running)
	}
	if _, err := f.client.StartMessageMoveTask(t.Context(), &awssqs.StartMessageMoveTaskInput{SourceArn: &arn}); code(err) != badValue {
		t.Errorf("a second task at once: %v", err)
	}
	if _, err := f.client.CancelMessageMoveTask(t.Context(), &awssqs.CancelMessageMoveTaskInput{TaskHandle: &handle}); err != nil {
		t.Fatal(err)
	}
	f.ended(arn, "CANCELLED")
	if got := f.counts(dead); got[0] == "0" {
		t.Error("the task moved everything nevertheless")
	}
	f.start(awssqs.StartMessageMoveTaskInput{SourceArn: &arn})
	f.ended(arn, "COMPLETED")
	if got := f.tasks(arn, aws.Int32(10)); len(got) != 2 || *got[0].Status != "COMPLETED" || *got[1].Status != "CANCELLED" {
		t.Errorf("the latest task is not the first of %+v", got)
	}
}

func TestMoveTasksAreChecked(t *testing.T) {
	f := open(t, sqs.Options{})
	url, dead := f.deadLetters("q", 0)
	arn, none := f.arn(dead), "arn:aws:sqs:us-east-1:000000000000:none"
	starts := []struct {
		name string
		in   awssqs.StartMessageMoveTaskInput
		want string
	}{
		{"no dead-letter queue", awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(f.arn(url))}, badValue},
		{"a missing source", awssqs.StartMessageMoveTaskInput{SourceArn: &none}, noResource},
		{"no ARN", awssqs.StartMessageMoveTaskInput{SourceArn: aws.String("q-dead")}, badValue},
		{"a missing destination", awssqs.StartMessageMoveTaskInput{SourceArn: &arn, DestinationArn: &none}, noResource},
		{"a destination that is no ARN", awssqs.StartMessageMoveTaskInput{SourceArn: &arn, DestinationArn: aws.String("q")}, badValue},
		{"the source as destination", awssqs.StartMessageMoveTaskInput{SourceArn: &arn, DestinationArn: &arn}, badValue},
		{"501 messages a second", awssqs.StartMessageMoveTaskInput{SourceArn: &arn, MaxNumberOfMessagesPerSecond: aws.Int32(501)}, badValue},
		{"no messages a second", awssqs.StartMessageMoveTaskInput{SourceArn: &arn, MaxNumberOfMessagesPerSecond: aws.Int32(0)}, badValue},
	}
	for _, tt := range starts {
		t.Run("start with "+tt.name, func(t *testing.T) {
			if _, err := f.client.StartMessageMoveTask(t.Context(), &tt.in); code(err) != tt.want {
				t.Errorf("error %q, want %q", code(err), tt.want)
			}
		})
	}
	handle := f.start(awssqs.StartMessageMoveTaskInput{SourceArn: &arn})
	f.ended(arn, "COMPLETED")
	cancels := []struct{ name, handle, want string }{
		{"garbage", "garbage", badValue},
		{"a task that has ended", handle, badValue},
		{"an unknown task", "eyJ0YXNrSWQiOiJ4Iiwic291cmNlQXJuIjoiYXJuOmF3czpzcXM6dXMtZWFzdC0xOjAwMDAwMDAwMDAwMDpxLWRlYWQifQ==", noResource},
		{"a missing queue", "eyJ0YXNrSWQiOiJ4Iiwic291cmNlQXJuIjoiYXJuOmF3czpzcXM6dXMtZWFzdC0xOjAwMDAwMDAwMDAwMDpub25lIn0=", noResource},
	}
	for _, tt := range cancels {
		t.Run("cancel "+tt.name, func(t *testing.T) {
			if _, err := f.client.CancelMessageMoveTask(t.Context(), &awssqs.CancelMessageMoveTaskInput{TaskHandle: &tt.handle}); code(err) != tt.want {
				t.Errorf("error %q, want %q", code(err), tt.want)
			}
		})
	}
	if _, err := f.client.ListMessageMoveTasks(t.Context(), &awssqs.ListMessageMoveTasksInput{SourceArn: &none}); code(err) != noResource {
		t.Errorf("list of a missing queue: %v", err)
	}
	if _, err := f.client.ListMessageMoveTasks(t.Context(), &awssqs.ListMessageMoveTasksInput{SourceArn: &arn, MaxResults: aws.Int32(11)}); code(err) != badValue {
		t.Errorf("list of eleven: %v", err)
	}
}
