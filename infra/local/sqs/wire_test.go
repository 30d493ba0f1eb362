package sqs_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"flashsale/infra/local/sqs"
)

// Details that the SDK hides are tested at the byte level.

func post(t *testing.T, url, target, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	if target != "" {
		req.Header.Set("X-Amz-Target", target)
	}
	// Shorter than the longest long poll: none of these requests may wait.
	client := http.Client{Timeout: 15 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(answer)
}

func TestErrorsHaveTheNamesOfBothProtocols(t *testing.T) {
	f := open(t, sqs.Options{})
	f.queue("q")
	tests := []struct {
		name, target, body string
		status             int
		shape, query       string
	}{
		{"a missing queue", "AmazonSQS.SendMessage", `{"QueueUrl":"http://x/0/none","MessageBody":"b"}`, 400,
			"com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue;Sender"},
		{"a wrong parameter", "AmazonSQS.ReceiveMessage", `{"QueueUrl":"http://x/0/q","MaxNumberOfMessages":0}`, 400,
			"com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue;Sender"},
		{"a missing parameter", "AmazonSQS.SendMessage", `{"QueueUrl":"http://x/0/q"}`, 400,
			"com.amazon.coral.service#MissingRequiredParameterException", "MissingParameter;Sender"},
		{"a garbage handle", "AmazonSQS.DeleteMessage", `{"QueueUrl":"http://x/0/q","ReceiptHandle":"garbage"}`, 404,
			"com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid;Sender"},
		{"an operation that nobody here uses", "AmazonSQS.SendMessageBatch", `{}`, 400,
			"com.amazon.coral.service#UnknownOperationException", "UnknownOperationException;Sender"},
		{"another service's operation", "DynamoDB_20120810.GetItem", `{}`, 400,
			"com.amazon.coral.service#UnknownOperationException", "UnknownOperationException;Sender"},
		{"the older query protocol", "", "Action=ListQueues&Version=2012-11-05", 400,
			"com.amazon.coral.service#UnknownOperationException", "UnknownOperationException;Sender"},
		{"a body which is no JSON", "AmazonSQS.GetQueueUrl", `{`, 400,
			"com.amazon.coral.service#SerializationException", "SerializationException;Sender"},
		{"a member of the wrong type", "AmazonSQS.ReceiveMessage", `{"QueueUrl":"http://x/0/q","WaitTimeSeconds":"1"}`, 400,
			"com.amazon.coral.service#SerializationException", "SerializationException;Sender"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := post(t, f.url, tt.target, tt.body)
			var answer struct {
				Type    string `json:"__type"`
				Message string `json:"message"`
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatalf("answer %q: %v", body, err)
			}
			if resp.StatusCode != tt.status || answer.Type != tt.shape || answer.Message == "" {
				t.Errorf("got %d %s", resp.StatusCode, body)
			}
			if got := resp.Header.Get("x-amzn-query-error"); got != tt.query {
				t.Errorf("x-amzn-query-error = %q, want %q", got, tt.query)
			}
			if resp.Header.Get("x-amzn-RequestId") == "" {
				t.Error("no x-amzn-RequestId")
			}
			if got := resp.Header.Get("Content-Type"); got != "application/x-amz-json-1.0" {
				t.Errorf("Content-Type = %q", got)
			}
		})
	}
}

func TestAnEmptyReceiveHasNoMessagesMember(t *testing.T) {
	f := open(t, sqs.Options{})
	f.queue("q")
	resp, body := post(t, f.url, "AmazonSQS.ReceiveMessage", `{"QueueUrl":"http://x/0/q"}`)
	if resp.StatusCode != 200 || body != "{}" {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

func TestAnExplicitZeroVisibilityTimeoutShowsTheMessageAgain(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	f.send(url, "b")
	for range 2 {
		if _, body := post(t, f.url, "AmazonSQS.ReceiveMessage",
			`{"QueueUrl":"http://x/0/q","VisibilityTimeout":0}`); !strings.Contains(body, `"Body":"b"`) {
			t.Errorf("got %s", body)
		}
	}
}
