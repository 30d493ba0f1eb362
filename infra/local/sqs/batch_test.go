package sqs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/local/sqs"
)

func entries(ids ...string) []types.SendMessageBatchRequestEntry {
	var list []types.SendMessageBatchRequestEntry
	for _, id := range ids {
		list = append(list, types.SendMessageBatchRequestEntry{Id: aws.String(id), MessageBody: aws.String("body of " + id)})
	}
	return list
}

func TestABatchIsRefusedAsAWhole(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	var eleven []string
	for i := range 11 {
		eleven = append(eleven, fmt.Sprint(i))
	}
	heavy := entries("a", "b")
	heavy[0].MessageBody = aws.String(strings.Repeat("x", 1<<20-1))
	heavy[1].MessageBody = aws.String("yy")
	tests := []struct {
		name    string
		entries []types.SendMessageBatchRequestEntry
		want    string
	}{
		{"no entries", []types.SendMessageBatchRequestEntry{}, "AWS.SimpleQueueService.EmptyBatchRequest"},
		{"eleven entries", entries(eleven...), "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"},
		{"an id twice", entries("a", "b", "a"), "AWS.SimpleQueueService.BatchEntryIdsNotDistinct"},
		{"an id with a colon", entries("a:b"), "AWS.SimpleQueueService.InvalidBatchEntryId"},
		{"an empty id", entries(""), "AWS.SimpleQueueService.InvalidBatchEntryId"},
		{"an id of 81 characters", entries(strings.Repeat("a", 81)), "AWS.SimpleQueueService.InvalidBatchEntryId"},
		{"more than 1 MiB together", heavy, "AWS.SimpleQueueService.BatchRequestTooLong"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := f.client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: tt.entries})
			if code(err) != tt.want {
				t.Errorf("error %q, want %q", code(err), tt.want)
			}
		})
	}
	if got := f.counts(url); got[0] != "0" {
		t.Errorf("a refused batch left %s messages", got[0])
	}
}

func TestAnEntryFailsAlone(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	list := entries("good", "control", "late", "also-good")
	list[1].MessageBody = aws.String("\x01")
	list[2].DelaySeconds = 901
	out, err := f.client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: list})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Successful) != 2 || *out.Successful[0].Id != "good" || *out.Successful[1].Id != "also-good" {
		t.Errorf("successful %+v", out.Successful)
	}
	if len(out.Failed) != 2 || *out.Failed[0].Code != "InvalidMessageContents" || *out.Failed[1].Code != "InvalidParameterValue" || !out.Failed[0].SenderFault {
		t.Errorf("failed %+v", out.Failed)
	}
	if got := f.receive(url); len(got) != 2 {
		t.Errorf("received %d messages, want 2", len(got))
	}
}

func TestDeleteAndVisibilityBatches(t *testing.T) {
	f := open(t, sqs.Options{})
	url := f.queue("q")
	if _, err := f.client.SendMessageBatch(t.Context(), &awssqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries("a", "b", "c")}); err != nil {
		t.Fatal(err)
	}
	m := f.receive(url)
	if len(m) != 3 {
		t.Fatalf("received %d", len(m))
	}
	changed, err := f.client.ChangeMessageVisibilityBatch(t.Context(), &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url,
		Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
			{Id: aws.String("now"), ReceiptHandle: m[0].ReceiptHandle, VisibilityTimeout: 0},
			{Id: aws.String("later"), ReceiptHandle: m[1].ReceiptHandle, VisibilityTimeout: 600},
			{Id: aws.String("range"), ReceiptHandle: m[1].ReceiptHandle, VisibilityTimeout: 43201},
			{Id: aws.String("garbage"), ReceiptHandle: aws.String("garbage"), VisibilityTimeout: 1},
		}})
	if err != nil || len(changed.Successful) != 2 || len(changed.Failed) != 2 || *changed.Failed[1].Code != "ReceiptHandleIsInvalid" {
		t.Fatalf("changed %+v, %v", changed, err)
	}
	if got := f.counts(url); got != [3]string{"1", "2", "0"} {
		t.Errorf("counts %v", got)
	}
	deleted, err := f.client.DeleteMessageBatch(t.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: &url,
		Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("shown"), ReceiptHandle: m[0].ReceiptHandle},
			{Id: aws.String("held"), ReceiptHandle: m[1].ReceiptHandle},
			{Id: aws.String("garbage"), ReceiptHandle: aws.String("garbage")},
		}})
	if err != nil || len(deleted.Successful) != 2 || len(deleted.Failed) != 1 || *deleted.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Fatalf("deleted %+v, %v", deleted, err)
	}
	if got := f.counts(url); got != [3]string{"0", "1", "0"} {
		t.Errorf("counts %v", got)
	}
	for _, ids := range [][]types.DeleteMessageBatchRequestEntry{{}, make([]types.DeleteMessageBatchRequestEntry, 11)} {
		for i := range ids {
			ids[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)), ReceiptHandle: aws.String("h")}
		}
		if _, err := f.client.DeleteMessageBatch(t.Context(), &awssqs.DeleteMessageBatchInput{QueueUrl: &url, Entries: ids}); err == nil {
			t.Errorf("%d entries were accepted", len(ids))
		}
	}
}
