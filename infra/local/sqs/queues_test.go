package sqs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"flashsale/infra/local/sqs"
)

func TestCreateQueue(t *testing.T) {
	f := open(t, sqs.Options{})
	dlq := f.arn(f.queue("dead"))
	f.queue("there", "VisibilityTimeout", "60", "RedrivePolicy", `{"deadLetterTargetArn":"`+dlq+`","maxReceiveCount":5}`)
	tests := []struct {
		name       string
		queue      string
		attributes []string
		want       string
	}{
		{"a name of 80 characters is a name", strings.Repeat("a", 80), nil, ""},
		{"letters, digits, hyphens and underscores are a name", "A-z_09", nil, ""},
		{"81 characters are too many", strings.Repeat("a", 81), nil, "InvalidParameterValue"},
		{"other characters are refused", "a.b", nil, "InvalidParameterValue"},
		{"no name is refused", "", nil, "MissingParameter"},
		{"the name of a FIFO queue is refused", "q.fifo", nil, "InvalidParameterValue"},
		{"a standard queue has no FIFO attribute", "q", []string{"FifoQueue", "false"}, "InvalidAttributeName"},
		{"the same queue again is no error", "there", []string{"VisibilityTimeout", "60"}, ""},
		{"the same policy is the same", "there", []string{"RedrivePolicy", `{"deadLetterTargetArn":"` + dlq + `","maxReceiveCount":5}`}, ""},
		{"no attributes match any", "there", nil, ""},
		{"another value is another queue", "there", []string{"VisibilityTimeout", "61"}, "QueueAlreadyExists"},
		{"another value than the default is another queue", "there", []string{"MessageRetentionPeriod", "60"}, "QueueAlreadyExists"},
		{"an unknown attribute is refused", "q", []string{"Colour", "red"}, "InvalidAttributeName"},
		{"a read-only attribute is refused", "q", []string{"QueueArn", dlq}, "InvalidAttributeName"},
		{"a value that is no number is refused", "q", []string{"VisibilityTimeout", "ten"}, "InvalidAttributeValue"},
		{"a policy that is none is refused", "q", []string{"RedrivePolicy", "nonsense"}, "InvalidParameterValue"},
		{"a dead-letter queue must exist", "q", []string{"RedrivePolicy", `{"deadLetterTargetArn":"` + dlq + `x","maxReceiveCount":1}`}, "InvalidParameterValue"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := f.client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &tt.queue, Attributes: pairs(tt.attributes)})
			if got := code(err); got != tt.want {
				t.Fatalf("error %q, want %q", got, tt.want)
			}
			if err == nil && *out.QueueUrl != f.url+"/000000000000/"+tt.queue {
				t.Errorf("URL %s", *out.QueueUrl)
			}
		})
	}
}

func TestAttributesOfAQueue(t *testing.T) {
	clock := newClock()
	f := open(t, sqs.Options{Now: clock.Now, Region: "eu-central-1", AccountID: "123456789012"})
	url := f.queue("q", "VisibilityTimeout", "120")
	created := "1794391200"
	want := map[string]string{
		"QueueArn":                    "arn:aws:sqs:eu-central-1:123456789012:q",
		"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0", "ApproximateNumberOfMessagesDelayed": "0",
		"CreatedTimestamp": created, "LastModifiedTimestamp": created,
		"VisibilityTimeout": "120", "MessageRetentionPeriod": "345600",
	}
	if diff := cmp.Diff(want, f.attributes(url)); diff != "" {
		t.Errorf("All (-want +got):\n%s", diff)
	}
	get := func(names ...types.QueueAttributeName) (map[string]string, error) {
		out, err := f.client.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
		if err != nil {
			return nil, err
		}
		return out.Attributes, nil
	}
	t.Run("one by name is answered alone", func(t *testing.T) {
		got, err := get("VisibilityTimeout", "RedrivePolicy")
		if diff := cmp.Diff(map[string]string{"VisibilityTimeout": "120"}, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
	t.Run("none asked for is none answered", func(t *testing.T) {
		if got, err := get(); err != nil || len(got) != 0 {
			t.Errorf("%v %v", got, err)
		}
	})
	t.Run("an unknown name is refused", func(t *testing.T) {
		if _, err := get("Colour"); code(err) != "InvalidAttributeName" {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a change shows in LastModifiedTimestamp", func(t *testing.T) {
		clock.advance(5 * time.Second)
		if _, err := f.client.SetQueueAttributes(t.Context(), &awssqs.SetQueueAttributesInput{
			QueueUrl: &url, Attributes: map[string]string{"MessageRetentionPeriod": "70"},
		}); err != nil {
			t.Fatal(err)
		}
		got := f.attributes(url)
		if got["MessageRetentionPeriod"] != "70" || got["CreatedTimestamp"] != created || got["LastModifiedTimestamp"] != "1794391205" {
			t.Errorf("got %v", got)
		}
	})
}

func TestGetQueueUrl(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	get := func(name string, owner *string) (string, error) {
		out, err := f.client.GetQueueUrl(t.Context(), &awssqs.GetQueueUrlInput{QueueName: &name, QueueOwnerAWSAccountId: owner})
		if err != nil {
			return "", err
		}
		return *out.QueueUrl, nil
	}
	if got, err := get("q", nil); err != nil || got != url {
		t.Errorf("got %q %v, want %q", got, err, url)
	}
	if _, err := get("none", nil); code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("a missing queue: %v", err)
	}
	if _, err := get("q", aws.String("999999999999")); code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("another account's queue: %v", err)
	}
}

func TestPurgeEmptiesAQueueOnceAMinute(t *testing.T) {
	clock := newClock()
	f := open(t, sqs.Options{Now: clock.Now})
	url := f.queue("q")
	for range 3 {
		f.send(url, "b")
	}
	f.one(url, func(in *awssqs.ReceiveMessageInput) { in.MaxNumberOfMessages = 1 })
	purge := func() error {
		_, err := f.client.PurgeQueue(t.Context(), &awssqs.PurgeQueueInput{QueueUrl: &url})
		return err
	}
	if err := purge(); err != nil {
		t.Fatal(err)
	}
	if got := f.counts(url); got != [3]string{"0", "0", "0"} {
		t.Errorf("counts after the purge: %v", got)
	}
	clock.advance(59 * time.Second)
	if err := purge(); code(err) != "AWS.SimpleQueueService.PurgeQueueInProgress" {
		t.Errorf("a second purge within a minute: %v", err)
	}
	clock.advance(time.Second)
	if err := purge(); err != nil {
		t.Errorf("a second purge after a minute: %v", err)
	}
}
