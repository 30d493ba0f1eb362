package sqs_test

import (
	"fmt"
	"strings"
	"testing"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/sqs"
)

// deletions are entries with these ids, all with one receipt handle.
func deletions(handle *string, ids ...string) []types.DeleteMessageBatchRequestEntry {
	list := []types.DeleteMessageBatchRequestEntry{}
	for _, id := range ids {
		list = append(list, types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: handle})
	}
	return list
}

func TestABatchIsRefusedAsAWhole(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	f.send(url, "b")
	held := f.one(url).ReceiptHandle
	var eleven []string
	for i := range 11 {
		eleven = append(eleven, fmt.Sprint(i))
	}
	tests := []struct {
		name string
		ids  []string
		want string
	}{
		{"no entries", nil, "AWS.SimpleQueueService.EmptyBatchRequest"},
		{"eleven entries", eleven, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"},
		{"an id twice", []string{"a", "b", "a"}, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"},
		{"an id with a colon", []string{"a:b"}, "AWS.SimpleQueueService.InvalidBatchEntryId"},
		{"an empty id", []string{""}, "AWS.SimpleQueueService.InvalidBatchEntryId"},
		{"an id of 81 characters", []string{strings.Repeat("a", 81)}, "AWS.SimpleQueueService.InvalidBatchEntryId"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := f.client.DeleteMessageBatch(t.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: deletions(held, tt.ids...)})
			if code(err) != tt.want {
				t.Errorf("error %q, want %q", code(err), tt.want)
			}
		})
	}
	if got := f.counts(url); got != [3]string{"0", "1", "0"} {
		t.Errorf("a refused batch left the counts %v", got)
	}
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
	garbage := "garbage"
	out, err := f.client.DeleteMessageBatch(t.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: append(append(
		deletions(m[0].ReceiptHandle, "first"), deletions(&garbage, "garbage")...), deletions(m[2].ReceiptHandle, "last")...)})
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
