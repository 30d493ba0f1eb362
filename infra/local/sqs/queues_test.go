package sqs_test

import (
	"strings"
	"testing"

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
	f := open(t, sqs.Options{Region: "eu-central-1", AccountID: "123456789012"})
	url := f.queue("q", "VisibilityTimeout", "120")
	want := map[string]string{
		"QueueArn":                    "arn:aws:sqs:eu-central-1:123456789012:q",
		"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0", "ApproximateNumberOfMessagesDelayed": "0",
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
	t.Run("an unknown name is refused", func(t *testing.T) {
		if _, err := get("Colour"); code(err) != "InvalidAttributeName" {
			t.Errorf("error %v", err)
		}
	})
}

func TestAQueueIsFoundByItsName(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	get := func(name string) (*awssqs.GetQueueUrlOutput, error) {
		return f.client.GetQueueUrl(t.Context(), &awssqs.GetQueueUrlInput{QueueName: &name})
	}
	if got, err := get("q"); err != nil || *got.QueueUrl != url {
		t.Errorf("got %+v %v, want %q", got, err, url)
	}
	if _, err := get("none"); code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("a missing queue: %v", err)
	}
}

func TestPurgeEmptiesAQueue(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	for range 3 {
		f.send(url, "b")
	}
	f.one(url, func(in *awssqs.ReceiveMessageInput) { in.MaxNumberOfMessages = 1 })
	if _, err := f.client.PurgeQueue(t.Context(), &awssqs.PurgeQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	if got := f.counts(url); got != [3]string{"0", "0", "0"} {
		t.Errorf("counts after the purge: %v", got)
	}
}
